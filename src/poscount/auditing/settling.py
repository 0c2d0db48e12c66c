"""From labels to a prevalence: everything that is claimed about the rows is checked first."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from poscount.auditing.agreement import (
    ALIKE,
    agreement,
    combine,
    distance,
    findings,
    positives_outside,
)
from poscount.auditing.batches import in_memory
from poscount.auditing.drawing import Drawn, draw
from poscount.auditing.label_table import LABEL, LabelTable, check_against, read_label_table
from poscount.auditing.settlement import Settlement, StratumLabels
from poscount.auditing.strata import FEWEST, Strata
from poscount.auditing.stratified import Labels, score_interval, share
from poscount.base.counting import CountingQuantifier
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError
from poscount.results.prevalence import Interval, Prevalence
from poscount.results.verdict import AnswerWarning


def settle(model: CountingQuantifier, frame: Any, labelled: Any) -> Settlement:
    """Turn labels of rows that `audit` has drawn into a prevalence.

    Parameters
    ----------
    model : CountingQuantifier
        The model that the rows were drawn with.
    frame : pandas, polars or pyarrow frame
        The rows that they were drawn from, in any order.
    labelled : pandas, polars or pyarrow frame
        What `audit` returned, with labels: yes and no, y and n, 1 and 0, true and false, positive
        and negative in any case; an empty cell is no label. Strata and probabilities are computed
        again from the model and the rows, and compared.

    Returns
    -------
    Settlement

    Examples
    --------
    >>> import numpy as np, pandas as pd, poscount
    >>> rng = np.random.default_rng(0)
    >>> def rows(centre, n):
    ...     return pd.DataFrame(rng.normal(centre, 1, size=(n, 3)), columns=["a", "b", "c"])
    >>> model = poscount.RCQ(random_state=0).fit(rows(0, 300))
    >>> trap = pd.concat([rows(0, 500), rows(2, 1500)], ignore_index=True)
    >>> to_label = poscount.audit(model, trap, n=100)
    >>> to_label["label"] = to_label["audit_row"] < 500      # somebody who knows
    >>> settled = poscount.settle(model, trap, to_label)
    >>> settled.prevalence
    Prevalence(0.236, 95% interval [0.200, 0.275], n=2000, labels)
    >>> settled.agreement, settled.labels_needed(width=0.05)
    ('agree', 251)
    """
    table = read_label_table(as_frame_with_names(labelled), model)
    return settle_drawn(draw(model, in_memory(frame), table.size, table.seed), table)


def settle_drawn(drawn: Drawn, table: LabelTable) -> Settlement:
    """Do as `settle`, for rows that have been drawn again."""
    places = check_against(table, drawn)
    given = np.array([label is not None for label in table.labels])
    positive = np.array([bool(label) for label in table.labels])
    at, positive = places[given], positive[given]
    labels = _count_labels(drawn, at, positive)
    by_model = drawn.prevalence
    assert by_model.interval is not None
    level = by_model.interval.level
    by_labels = _answer(by_model, share(labels), score_interval(labels, level), "labels")
    outside = _in_strata(drawn, at[positive & drawn.outside[at]])
    expected = drawn.strata.share_outside
    where = positives_outside(labels, outside, expected, by_model.n_labeled)
    found = findings(labels, drawn.strata, by_labels, by_model, where)
    word = agreement(distance(by_labels, by_model))
    doubted = any(caution.severity != "note" for caution in by_model.warnings)
    alike = word == "agree" and abs(where.statistic) <= ALIKE
    combined = combine(by_labels, by_model) if alike and not doubted else None
    # Rows of the data, not of the table: somebody may have edited it.
    chosen = [drawn.frame[np.sort(at[positive == which]).tolist()] for which in (True, False)]
    return Settlement(
        by_labels,
        None if combined is None else _answer(by_model, *combined, "labels and model"),
        by_model,
        word,
        (*found, *_skipped(at)),
        _by_stratum(labels, drawn.strata),
        *(nw.maybe_reset_index(rows).to_native() for rows in chosen),
    )


def _by_stratum(labels: Labels, strata: Strata) -> tuple[StratumLabels, ...]:
    return tuple(
        StratumLabels(
            stratum + 1,
            int(labels.rows[stratum]),
            int(strata.drawn[stratum]),
            int(labels.labelled[stratum]),
            int(labels.positives[stratum]),
            float(strata.expected[stratum]),
        )
        for stratum in range(len(labels.rows))
    )


def _count_labels(drawn: Drawn, at: np.ndarray, positive: np.ndarray) -> Labels:
    """Labels in each stratum, of which there must be enough."""
    strata = drawn.strata
    labelled = _in_strata(drawn, at)
    short = labelled < np.minimum(strata.rows, FEWEST)
    if short.any():
        stratum = int(np.argmax(short))
        # The first rows of the table hold this many of each stratum.
        first = int(np.minimum(strata.rows, FEWEST).sum())
        raise InputError(
            f"{len(at)} label(s) are too few: stratum {stratum + 1} has {labelled[stratum]} and "
            f"needs {min(FEWEST, strata.rows[stratum])}; label at least the first {first} rows "
            "that audit listed.",
            column=LABEL,
        )
    return Labels(strata.rows, labelled, _in_strata(drawn, at[positive]))


def _in_strata(drawn: Drawn, at: np.ndarray) -> np.ndarray:
    """How many of some of the rows drawn are in each stratum."""
    return np.bincount(drawn.stratum[at], minlength=len(drawn.strata.rows))


def _answer(by_model: Prevalence, value: float, interval: Interval, method: str) -> Prevalence:
    return Prevalence(
        value,
        n_labeled=by_model.n_labeled,
        n_unlabeled=by_model.n_unlabeled,
        method=method,
        interval=interval,
    )


def _skipped(at: np.ndarray) -> tuple[AnswerWarning, ...]:
    """Warn if labels are missing in between, and not only at the end."""
    skipped = int(at.max()) + 1 - len(at)
    if not skipped:
        return ()
    return (
        AnswerWarning(
            "skipped-labels",
            f"{skipped} row(s) before the last label have none. That does no harm if they were "
            "left out by chance; if they were hard to judge, the answer is biased.",
            float(skipped),
        ),
    )
