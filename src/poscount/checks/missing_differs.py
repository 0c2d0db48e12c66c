"""Values that are missing in the sample more often, or less often, than in the positives."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome
from poscount.checks.gaps import ManyGapEvidence
from poscount.data.columns import Columns
from poscount.errors import join_names
from poscount.results.verdict import CAUTION_SEVERITIES

# Of rows: a smaller difference moves no answer by more.
SMALLEST, DOUBTFUL = 0.02, 0.05
# In standard errors, because there may be many columns.
NOISE = 4.0


def _differences(columns: Columns, missing: np.ndarray, incomplete: Any, n_rows: Any) -> np.ndarray:
    """Differences of the shares that are missing, 0 if noise explains them; last of any column."""
    of_positives = np.append(columns.missing_, columns.incomplete_)
    of_sample = np.concatenate([missing, np.asarray(incomplete)[..., np.newaxis]], axis=-1)
    n = np.asarray(n_rows)[..., np.newaxis]
    pooled = (of_positives + of_sample) / (columns.n_ + n)
    noise = np.sqrt(pooled * (1 - pooled) * (1 / columns.n_ + 1 / n))
    differs = np.abs(of_sample / n - of_positives / columns.n_)
    return np.where(differs <= NOISE * noise, 0.0, differs)


def _look(evidence: Evidence) -> Outcome | Missing:
    gaps = evidence.gaps
    if isinstance(gaps, Missing):
        return gaps
    columns, n_rows = gaps.columns, gaps.n_rows
    # The last place stands for all columns together.
    shares = np.append(gaps.missing, gaps.incomplete) / n_rows
    positive_shares = np.append(columns.missing_, columns.incomplete_) / columns.n_
    differs = _differences(columns, gaps.missing, gaps.incomplete, n_rows)
    largest = float(differs.max())
    if largest <= SMALLEST:
        sentence = "Values are missing as often as in the positives."
        return Outcome("ok", largest, SMALLEST, sentence)
    of_columns = differs[:-1]
    strange = np.argsort(-of_columns, kind="stable")[: np.count_nonzero(of_columns > SMALLEST)]
    names = [columns.names_[j] for j in strange.tolist()]
    if names:
        reason = f"column {names[0]} has other gaps than in the positives"
        sentence = (
            f"Column {names[0]} is missing in {100 * shares[strange[0]]:.1f} % of the sample, and "
            f"in {100 * positive_shares[strange[0]]:.1f} % of the positives."
        )
    else:
        reason = "other gaps than in the positives"
        sentence = (
            f"Some value is missing in {100 * shares[-1]:.1f} % of the sample, and in "
            f"{100 * positive_shares[-1]:.1f} % of the positives."
        )
    if len(names) > 1:
        sentence += f" Gaps differ in {len(names)} columns: {join_names(names)}."
    return Outcome(
        "warning",
        largest,
        SMALLEST,
        sentence,
        "If only negatives differ, the answer is right. If it was recorded in another way, leave "
        "the column out, or label positives as they are recorded now.",
        caution=largest,
        caution_severity="doubt" if largest > DOUBTFUL else "note",
        reason=reason,
    )


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    gaps = samples.gaps
    if isinstance(gaps, Missing):
        return False
    return _largest(gaps) > SMALLEST


def _severities(samples: ManySamples) -> np.ndarray:
    assert isinstance(samples.gaps, ManyGapEvidence)  # others do not concern it
    return np.where(_largest(samples.gaps) > DOUBTFUL, CAUTION_SEVERITIES.index("doubt"), 0)


def _largest(gaps: ManyGapEvidence) -> np.ndarray:
    differs = _differences(gaps.columns, gaps.missing, gaps.incomplete, gaps.n_rows)
    return differs.max(axis=1)


MISSING_DIFFERS = Check(
    code="missing-differs",
    look=_look,
    concerns=_concerns,
    severities=_severities,
    title="Missing values",
    quantity="largest difference between the shares of missing values of a column",
    cannot_detect="other rows that lack a value, as long as they are as many",
)
