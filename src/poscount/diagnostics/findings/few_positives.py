"""Number of positives for the method and the number of features."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding
from poscount.reusable.rcq import FEWEST_POSITIVES

ABOUT = About(
    "few-positives",
    "Number of positives",
    "labelled positives",
    0.0,
    "whether the positives are typical of those in the sample",
)
# With fewer, the mean error on real data was 4 points and more (docs/rcq.md).
COMFORTABLE = 60


def few_positives(evidence: Evidence) -> Finding:
    """Compare the number of positives with what the method needs."""
    n = evidence.model.n_labeled_
    needed = FEWEST_POSITIVES
    advice = "label more positives."
    scorer = getattr(evidence.model, "scorer_", None)
    if scorer is not None and checks.has_plain_covariance(scorer):
        # With fewer than this there is no covariance at all.
        needed = max(needed, scorer.rank_ + 3)
        while checks.covariance_bias(scorer.rank_, needed) > checks.LARGEST_BIAS:
            needed += 1
        if n < needed:
            advice = 'label more positives, or shrink the covariance: Mahalanobis("ledoit-wolf").'
    d = evidence.model.n_features_in_
    learned = f"The model has learned from {n} positives with {d} feature{'s' if d > 1 else ''}"
    if n < needed:
        sentence = f"{learned}, and needs at least {needed}."
        return ABOUT.found("warning", n, needed, sentence, advice)
    if n < COMFORTABLE:
        sentence = (
            f"{learned}, which is enough to answer, but the error is then often 4 points and more."
        )
        return ABOUT.found("notice", n, needed, sentence, advice)
    return ABOUT.found("ok", n, needed, f"{learned}, which is enough.")
