"""The rows that are most likely positive, in two passes over batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from poscount.auditing.batches import (
    Batch,
    Source,
    count_batches,
    in_memory,
    require_counting,
    rows_together,
)
from poscount.auditing.row_hashes import content_hashes
from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.counts.counts import Counts
from poscount.data.grouping import column_names, group_codes, group_keys
from poscount.errors import InputError

PROBABILITY, FILE, ROW = "probability", "source_file", "source_row"
# By what rows are sorted; both the probability and the score have their sign turned.
_KEY = np.dtype(
    [("group", "i8"), ("unlikely", "f8"), ("far", "f8"), ("content", "u8"), ("row", "i8")]
)
# How many times as many rows as are asked for wait until the best of them are chosen.
_WAITING = 4


def likely_positives(
    model: CountingQuantifier, frame: Any, top: int = 200, *, by: str | Sequence[str] = ()
) -> Any:
    """List the rows that are most likely positive, with their probability.

    Rows of one cell have the same probability (`CountingQuantifier.posterior`); among them, those
    with the higher score come first, and among equal scores a hash of the row decides.

    Parameters
    ----------
    model : CountingQuantifier
        A fitted reusable quantifier, such as `RCQ`.
    frame : pandas, polars or pyarrow frame
        Unlabeled rows.
    top : int, default=200
        How many of them; of each group, if there are groups.
    by : str or sequence of str
        Grouping columns, as in `quantify_by`: each group has a prevalence, and so probabilities,
        of its own.

    Returns
    -------
    frame of the caller's kind
        "probability", the columns of the rows, and "source_file" and "source_row", which say where
        each row is.

    Examples
    --------
    >>> import poscount
    >>> from poscount.example import load_example
    >>> positives, trap, truth = load_example()
    >>> model = poscount.RCQ(random_state=0).fit(positives)
    >>> poscount.likely_positives(model, trap, top=2)[["probability", "wingbeat_hz", "source_row"]]
       probability  wingbeat_hz  source_row
    0          1.0        507.3        6160
    1          1.0        486.6        7652
    """
    return likely_rows(model, in_memory(frame), top, column_names(by)).to_native()


def likely_rows(
    model: CountingQuantifier, source: Source, top: int, by: Sequence[str] = ()
) -> nw.DataFrame:
    """Do as `likely_positives`, for rows that come in batches."""
    require_counting(model)
    if top < 1:
        raise InputError(f"At least one row must be asked for, not {top}.", option="top")
    best = _Best(model, count_batches(BatchCounter(model, by), source), top, tuple(by))
    for batch in source():
        best.look_at(batch)
    return best.frame()


class _Best:
    """The best rows of each group so far."""

    def __init__(
        self, model: CountingQuantifier, counts: Any, top: int, by: tuple[str, ...]
    ) -> None:
        self.model, self.top, self.by = model, top, by
        if by:
            counts = counts.in_order()
            self.groups = {key: i for i, key in enumerate(counts.keys)}
            parts = [
                Counts(cells, int(n), counts.model)
                for cells, n in zip(counts.cells, counts.n, strict=True)
            ]
        else:
            parts = [counts]
        self.probability = np.array([model._cell_posterior(part).probability for part in parts])
        self.frames: list[nw.DataFrame] = []
        self.files: list[str | None] = []
        self.keys: list[np.ndarray] = [np.empty(0, _KEY)]

    def look_at(self, batch: Batch) -> None:
        """Keep the rows of a batch that are among the best."""
        frame = batch.frame
        if not len(frame):
            return
        keys = np.empty(len(frame), _KEY)
        keys["group"] = self._groups_of(frame)
        rows = self.model._sample(frame)
        cells = self.model._posterior_cells_of(rows)
        keys["unlikely"] = -self.probability[keys["group"], cells]
        keys["far"] = -self.model._scores_of(rows)
        keys["content"] = content_hashes(frame)
        keys["row"] = batch.first_row + np.arange(len(frame)) + (batch.file is not None)
        chosen = self._best_of(keys)
        self.frames.append(frame[chosen.tolist()])
        self.files += [batch.file] * len(chosen)
        self.keys.append(keys[chosen])
        if sum(map(len, self.keys)) > _WAITING * self.top * len(self.probability):
            self._prune()

    def _groups_of(self, frame: nw.DataFrame) -> np.ndarray:
        if not self.by:
            return np.zeros(len(frame), np.intp)
        groups, codes = group_codes(frame, self.by)
        return np.array([self.groups[key] for key in group_keys(groups)], np.intp)[codes]

    def _best_of(self, keys: np.ndarray) -> np.ndarray:
        """Places of the best rows of each group, in their order."""
        # lexsort looks at its last key first.
        order = np.lexsort([keys[name] for name in reversed(keys.dtype.names or ())])
        group = keys["group"][order]
        first = np.searchsorted(group, group)
        return order[np.arange(len(order)) - first < self.top]

    def _prune(self) -> None:
        keys, frame = np.concatenate(self.keys), rows_together(self.frames)
        chosen = self._best_of(keys)
        self.keys, self.frames = [keys[chosen]], [frame[chosen.tolist()]]
        self.files = [self.files[i] for i in chosen.tolist()]

    def frame(self) -> nw.DataFrame:
        """The best rows, group by group."""
        self._prune()
        (keys,), (frame,) = self.keys, self.frames
        frame = nw.maybe_reset_index(frame)
        for name in frame.columns:
            if name in (PROBABILITY, FILE, ROW):
                raise InputError("the result has a column of this name; rename yours.", column=name)
        backend = frame.implementation
        series = [
            nw.new_series(PROBABILITY, (-keys["unlikely"]).tolist(), nw.Float64, backend=backend),
            nw.new_series(FILE, self.files, nw.String, backend=backend),
            nw.new_series(ROW, keys["row"].tolist(), nw.Int64, backend=backend),
        ]
        return frame.with_columns(*series).select([PROBABILITY, *frame.columns, FILE, ROW])
