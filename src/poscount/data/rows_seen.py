"""What rows of a sample tell that counts cannot: labelled positives and repeated numbers."""

from __future__ import annotations

import numpy as np

from poscount.data.known_rows import KnownRows
from poscount.data.repeated_values import RepeatedValues
from poscount.data.rows import Rows


class RowsSeen:
    """Looks at the rows of a sample, batch by batch, while they are counted.

    Parameters
    ----------
    known : KnownRows or None
        None if rows may be equal by chance.
    repeated : RepeatedValues

    Attributes
    ----------
    drop_known : bool
        Whether labelled positives are left out of the sample.
    """

    def __init__(self, known: KnownRows | None, repeated: RepeatedValues) -> None:
        self.known = known
        self.repeated = repeated
        self.drop_known = False

    @property
    def n_known(self) -> int:
        """How many labelled positives are in the sample."""
        return 0 if self.known is None or self.drop_known else self.known.n_found

    def look(self, rows: Rows) -> np.ndarray:
        """Look at some rows; which of them are labelled positives."""
        found = [np.zeros(0, bool)]
        for block in rows.float_blocks():
            self.repeated.add(block)
            of_block = np.zeros(len(block), bool) if self.known is None else self.known.find(block)
            found.append(of_block)
        return np.concatenate(found)
