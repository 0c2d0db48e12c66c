"""Features that do not vary, in the positives or in the sample."""

from __future__ import annotations

import numpy as np

from poscount.diagnostics.evidence import NOT_NUMBERS, Evidence, blocks
from poscount.diagnostics.finding import About, Finding, Unchecked
from poscount.diagnostics.in_words import listed
from poscount.scorers import Mahalanobis
from poscount.validation import Rows

ABOUT = About(
    "constant-features",
    "Constant features",
    "features that do not vary",
    0.0,
    "a feature whose values are wrong but vary",
)
FEWEST_ROWS = 20
# With as many rows to be expected, none is seen in one sample of 150.
EXPECTED_ROWS = 5.0
MOSTLY = 0.5


def constant_features(evidence: Evidence) -> Finding | Unchecked:
    """Look for features with one value only."""
    if evidence.sample is None:
        return ABOUT.unchecked(NOT_NUMBERS)
    if len(evidence.sample) < FEWEST_ROWS:
        return ABOUT.unchecked(f"a sample of fewer than {FEWEST_ROWS} rows says nothing about it.")
    low, high = _range(evidence.sample)
    in_sample = low == high
    in_positives = _constant_in_positives(evidence)
    lost = in_sample & ~in_positives & _should_vary(evidence, low)
    n_constant = int((in_sample | in_positives).sum())
    if lost.any():
        sentence = (
            f"{_names(evidence, lost)} has one value in the whole sample, but "
            "varies among the positives."
        )
        advice = "look whether it was measured, and filled with a default; leave it out if so."
        return ABOUT.found("warning", n_constant, 0.0, sentence, advice)
    if n_constant:
        places = [("positives", in_positives), ("sample", in_sample)]
        sentence = "; ".join(
            f"constant in the {place}: {_names(evidence, which)}"
            for place, which in places
            if which.any()
        )
        advice = "nothing, if it is meant; such a feature does not count in the score of positives."
        return ABOUT.found("notice", n_constant, 0.0, f"{sentence}.", advice)
    return ABOUT.found("ok", 0.0, 0.0, "Every feature varies.")


def _names(evidence: Evidence, which: np.ndarray) -> str:
    return listed(evidence.model._feature_name(j) for j in np.flatnonzero(which).tolist())


def _range(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    ends = [(block.min(axis=0), block.max(axis=0)) for block in blocks(rows)]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def _constant_in_positives(evidence: Evidence) -> np.ndarray:
    constant = np.zeros(evidence.model.n_features_in_, bool)
    scorer = getattr(evidence.regions or evidence.model, "scorer_", None)
    if evidence.positives is not None:
        low, high = _range(evidence.positives)
        constant = low == high
    elif isinstance(scorer, Mahalanobis):
        constant[scorer.constant_] = True
    return constant


def _should_vary(evidence: Evidence, value: np.ndarray) -> np.ndarray:
    """Whether the positives have other values so often that the sample should show some."""
    if evidence.positives is None:
        return np.zeros(len(value), bool)
    others = (evidence.positives_part != value).mean(axis=0)
    return (others > MOSTLY) | (others * evidence.answer.count > EXPECTED_ROWS)
