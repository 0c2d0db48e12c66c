"""Features that do not vary, in the positives or in the sample."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check
from poscount.checks.evidence import Evidence, MissingEvidenceError
from poscount.data.columns import NOT_COUNTED
from poscount.data.rows import Rows
from poscount.errors import join_names

FEWEST_ROWS = 20
# Where this many rows are expected, a sample without any is 1 in 150.
EXPECTED_ROWS = 5.0
MOSTLY = 0.5


def _constant(evidence: Evidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which features are constant in the sample, and among the positives; and which should vary."""
    if len(evidence.sample) < FEWEST_ROWS:
        raise MissingEvidenceError(f"A sample of fewer than {FEWEST_ROWS} rows does not show it.")
    low, high = _range(evidence.sample)
    in_sample, in_positives = low == high, _constant_in_positives(evidence)
    return in_sample, in_positives, in_sample & ~in_positives & _should_vary(evidence, low)


def _severity(evidence: Evidence, n: np.ndarray) -> np.ndarray:
    return np.where(n == 0, 0, NOTE)


def _sentence(evidence: Evidence, i: int) -> str:
    in_sample, in_positives, lost = _constant(evidence)
    if lost.any():
        names = _names(evidence, lost)
        return f"Constant in the whole sample, but not among the positives: {names}."
    places = [("among the positives", in_positives), ("in the sample", in_sample)]
    sentence = "; ".join(
        f"constant {place}: {_names(evidence, which)}" for place, which in places if which.any()
    )
    return f"{sentence[0].upper()}{sentence[1:]}."


def _advice(evidence: Evidence, i: int) -> str:
    *_, lost = _constant(evidence)
    if lost.any():
        return (
            "Check whether it was measured, or filled in with a default; if so, leave the feature "
            "out."
        )
    if evidence.has("unknown_values") and evidence.unknown_values.columns.constants_.places.size:
        return f"Nothing, if this is intended: {NOT_COUNTED}, where these have only one."
    return (
        "Nothing, if this is intended. A feature that is constant among the positives does not "
        "count in the score."
    )


def _names(evidence: Evidence, which: np.ndarray) -> str:
    return join_names(evidence.feature_names[j] for j in np.flatnonzero(which).tolist())


def _range(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    ends = [(block.min(axis=0), block.max(axis=0)) for block in rows.float_blocks()]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def _constant_in_positives(evidence: Evidence) -> np.ndarray:
    if evidence.has("positives"):
        low, high = _range(evidence.positives)
        return low == high
    constant = np.zeros(len(evidence.feature_names), bool)
    if evidence.has("scorer"):
        constant[evidence.scorer.constant_] = True
    return constant


def _should_vary(evidence: Evidence, value: np.ndarray) -> np.ndarray:
    """Whether the positives have other values so often that the sample should show some."""
    if not evidence.has("some_positives"):
        return np.zeros(len(value), bool)
    others = (evidence.some_positives != value).mean(axis=0)
    return (others > MOSTLY) | (others * evidence.count > EXPECTED_ROWS)


CONSTANT_FEATURES = Check(
    code="constant-features",
    statistic=lambda evidence: np.logical_or(*_constant(evidence)[:2]).sum(),
    severity=_severity,
    sentence=_sentence,
    advice=_advice,
    in_order="Every feature varies.",
    threshold=0.0,
    title="Constant features",
    quantity="features that do not vary",
    cannot_detect="a feature whose values are wrong but vary",
)
