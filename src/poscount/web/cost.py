"""What an estimate will cost, before it is made: quick ones and long ones wait in two queues."""

from __future__ import annotations

from poscount import registry
from poscount.web.tasks import EstimateTask

# Of the slowest method, rounded up: `benchmarks/robustness/load.py --costs` measures all of them.
_SECONDS_TO_START = 1.0
_SECONDS_PER_MILLION_CELLS = 1.5
_REUSABLE_SECONDS_PER_MILLION_CELLS = 0.3
# Replicates are made from halves of the rows.
_COST_OF_A_REPLICATE = 0.5
_QUICK_SECONDS = 20.0


def expected_seconds(method: str, n_cells: int, replicates: int | None) -> float:
    """Guess how long an estimate takes at most, from the unlabeled cells and the replicates.

    Examples
    --------
    >>> expected_seconds("rcq", 10_000_000, None), expected_seconds("bbe", 10_000_000, None)
    (4.0, 16.0)
    >>> expected_seconds("bbe", 10_000_000, 200)
    1616.0
    """
    reusable = registry.METHODS[method].startswith("poscount.methods.regions.")
    slope = _REUSABLE_SECONDS_PER_MILLION_CELLS if reusable else _SECONDS_PER_MILLION_CELLS
    once = _SECONDS_TO_START + slope * n_cells / 1e6
    return once * (1 + _COST_OF_A_REPLICATE * (replicates or 0))


def is_long(task: EstimateTask, n_cells: int) -> bool:
    """Tell whether an estimate belongs among the long ones."""
    return expected_seconds(task.method, n_cells, task.options["bootstrap"]) > _QUICK_SECONDS
