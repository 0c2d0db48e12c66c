"""What the calibrations that poscount comes with were learned from, besides `poscount.training`.

Importing it adds families of synthetic tasks, and the methods with kinds and with several targets,
to what `poscount.training.bank` knows.
"""

from poscount.training import bank
from research.calibrations import families, kinds_and_targets
from research.calibrations.corrupt import corrupted
from research.calibrations.sources import BUNDLED, as_numbers, bundled

__all__ = ["BUNDLED", "as_numbers", "bundled", "corrupted"]

_FAMILIES = (
    bank.Family("regression", families.draw_regression),
    bank.Family("margins", families.draw_margins),
    bank.Family("parity", families.draw_parity),
    # With larger tasks than the others have.
    bank.Family("gaps", families.draw_gaps, more_labeled=10, more_rows=2),
)
bank.FAMILIES.update((family.name, family) for family in _FAMILIES)
bank.COLUMNS.update(kinds_and_targets.COLUMNS)
bank.LIMITS.update(kinds_and_targets.LIMITS)
bank.LINES.update(kinds_and_targets.LINES)
# What is said about "other" is in the bank of the groups.
bank.BANK_OF["RCQ-other"] = "RCQ-groups"
