"""The rows that are most likely positive, in two passes over batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from poscount.auditing.batches import (
    BestRows,
    Source,
    count_batches,
    in_memory,
    require_counting,
    with_columns,
)
from poscount.base.batch_counter import BatchCounter
from poscount.base.counting import CountingQuantifier
from poscount.data.grouping import column_names, group_codes, group_keys
from poscount.errors import InputError

# By what rows are sorted; both the probability and the score have their sign turned.
_KEY = np.dtype(
    [("group", "i8"), ("unlikely", "f8"), ("far", "f8"), ("place", "i8"), ("row", "i8")]
)


def likely_positives(
    model: CountingQuantifier, frame: Any, top: int = 200, *, by: str | Sequence[str] = ()
) -> Any:
    """List the rows that are most likely positive, with their probability.

    Rows of one cell have the same probability (`CountingQuantifier.posterior`); among them, those
    with the higher score come first, and rows with equal scores keep their order.

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
    counts = count_batches(BatchCounter(model, by), source)
    samples = dict(counts.in_order().items()) if by else {(): counts}
    groups = {key: i for i, key in enumerate(samples)}
    probability = np.array(
        [model._cell_posterior(sample).probability for sample in samples.values()]
    )
    best = BestRows(np.full(len(groups), top), _KEY)
    for batch in source():
        frame = batch.frame
        rows = model._sample(frame)
        keys = np.zeros(len(frame), _KEY)
        if by:
            found, codes = group_codes(frame, tuple(by))
            keys["group"] = np.array([groups[key] for key in group_keys(found)], np.intp)[codes]
        keys["unlikely"] = -probability[keys["group"], model._posterior_cells_of(rows)]
        keys["far"] = -model._scores_of(rows)
        best.add(batch, keys)
    found, files, keys = best.collect()
    return with_columns(
        found,
        {
            "probability": ((-keys["unlikely"]).tolist(), nw.Float64),
            "source_file": (files, nw.String),
            "source_row": (keys["row"].tolist(), nw.Int64),
        },
        "the result has a column of this name; rename yours.",
    )
