"""Features that do not vary, in the positives or in the sample."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, Missing, Outcome, blocks
from poscount.data.rows import Rows
from poscount.errors import join_names

FEWEST_ROWS = 20
# Where this many rows are expected, a sample without any is 1 in 150.
EXPECTED_ROWS = 5.0
MOSTLY = 0.5


def _look(evidence: Evidence) -> Outcome | Missing:
    if isinstance(evidence.sample, Missing):
        return evidence.sample
    if len(evidence.sample) < FEWEST_ROWS:
        return Missing(f"A sample of fewer than {FEWEST_ROWS} rows does not show it.")
    low, high = _range(evidence.sample)
    in_sample = low == high
    in_positives = _constant_in_positives(evidence)
    lost = in_sample & ~in_positives & _should_vary(evidence, low)
    n_constant = int((in_sample | in_positives).sum())
    if lost.any():
        sentence = (
            f"Constant in the whole sample, but not among the positives: {_names(evidence, lost)}."
        )
        advice = (
            "Check whether it was measured, or filled in with a default; if so, leave the feature "
            "out."
        )
        return Outcome("warning", n_constant, 0.0, sentence, advice)
    if n_constant:
        places = [("among the positives", in_positives), ("in the sample", in_sample)]
        sentence = "; ".join(
            f"constant {place}: {_names(evidence, which)}" for place, which in places if which.any()
        )
        advice = (
            "Nothing, if this is intended. A feature that is constant among the positives does not "
            "count in the score."
        )
        sentence = f"{sentence[0].upper()}{sentence[1:]}."
        return Outcome("notice", n_constant, 0.0, sentence, advice)
    return Outcome("ok", 0.0, 0.0, "Every feature varies.")


def _names(evidence: Evidence, which: np.ndarray) -> str:
    return join_names(evidence.feature_names[j] for j in np.flatnonzero(which).tolist())


def _range(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    ends = [(block.min(axis=0), block.max(axis=0)) for block in blocks(rows)]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def _constant_in_positives(evidence: Evidence) -> np.ndarray:
    if not isinstance(evidence.positives, Missing):
        low, high = _range(evidence.positives)
        return low == high
    constant = np.zeros(len(evidence.feature_names), bool)
    if not isinstance(evidence.scorer, Missing):
        constant[evidence.scorer.constant_] = True
    return constant


def _should_vary(evidence: Evidence, value: np.ndarray) -> np.ndarray:
    """Whether the positives have other values so often that the sample should show some."""
    positives = evidence.some_positives
    if isinstance(positives, Missing):
        return np.zeros(len(value), bool)
    others = (positives != value).mean(axis=0)
    return (others > MOSTLY) | (others * evidence.count > EXPECTED_ROWS)


CONSTANT_FEATURES = Check(
    code="constant-features",
    look=_look,
    title="Constant features",
    quantity="features that do not vary",
    cannot_detect="a feature whose values are wrong but vary",
)
