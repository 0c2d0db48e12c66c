"""Agreement with a method of another kind: DEDPUL, which learns from both sets of rows."""

from __future__ import annotations

import numpy as np

from poscount.diagnostics.evidence import MOST_ROWS, NOT_NUMBERS, Evidence
from poscount.diagnostics.finding import About, Drawing, Finding, Unchecked, severity_above
from poscount.plotting import PrevalenceDisplay
from poscount.prevalence import Prevalence
from poscount.scorers import Mahalanobis
from poscount.threads import one_blas_thread
from poscount.transductive.dedpul import DEDPUL

ABOUT = About(
    "dedpul-disagrees",
    "Agreement with a third method",
    "distance of DEDPUL and RCQ, beyond the usual, in units of RCQ's uncertainty",
    0.015,
    "which of the methods is wrong, nor what misleads all of them",
)
# DEDPUL's answers for clean samples are a little smaller than RCQ's, in the middle.
USUAL = -0.25
NOTICE, WARNING = 0.85, 1.05
# Below it, chance in DEDPUL counts for more than in RCQ.
SMALLEST_GAP = 0.05
# With fewer, chance alone keeps the two apart; the limits were measured from here on.
FEWEST_POSITIVES, FEWEST_ROWS = 60, 200
# In standard deviations of the positives.
FARTHEST = 6.0


def dedpul_disagrees(evidence: Evidence) -> Finding | Unchecked:
    """Compare the answer with that of DEDPUL."""
    if evidence.positives is None:
        return ABOUT.unchecked(evidence.no_positives)
    if evidence.sample is None:
        return ABOUT.unchecked(NOT_NUMBERS)
    if evidence.regions is None:
        return ABOUT.unchecked(evidence.no_regions)
    if len(evidence.positives) < FEWEST_POSITIVES or len(evidence.sample) < FEWEST_ROWS:
        return ABOUT.unchecked(
            f"DEDPUL is asked from {FEWEST_POSITIVES} positives and {FEWEST_ROWS} rows on."
        )
    scorer = evidence.regions.scorer_
    other = (
        DEDPUL(random_state=evidence.model.seed_)
        .fit(_with_distance(evidence.positives_part, scorer))
        .quantify(_with_distance(evidence.sample_part, scorer))
    )
    p = float(evidence.regional)
    units = (other - p) / max(evidence.regional.details["gap"], SMALLEST_GAP)
    distance = abs(units - USUAL)
    severity = severity_above(distance, NOTICE, WARNING)
    part = f" (on {MOST_ROWS:,} of the rows)" if len(evidence.sample) > MOST_ROWS else ""
    sentence = f"RCQ finds {p:.3f} and DEDPUL finds {other:.3f}{part}"
    plot = _plot(evidence, other)
    if severity == "ok":
        sentence += ", no farther apart than is usual."
        return ABOUT.found(severity, distance, WARNING, sentence, plot=plot)
    if units < USUAL:
        sentence += ": a classifier tells more of the rows from positives than RCQ's regions do."
        advice = "the share may be smaller than RCQ says; try TRCQ, and report the range."
    else:
        sentence += ": a classifier cannot tell some rows from positives that RCQ's regions can."
        advice = "look at the overlap and drift findings; report the range if they warn, too."
    return ABOUT.found(severity, distance, WARNING, sentence, advice, plot)


def _with_distance(rows: np.ndarray, scorer: Mahalanobis) -> np.ndarray:
    """Features without their correlations, and the distance from the positives.

    With the distance, DEDPUL's logistic regression can see negatives all around the positives.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        white = (rows - scorer.location_) @ scorer.whitening_
    # Far is far: what overflows must not decide about the others.
    white = np.clip(np.nan_to_num(white, nan=FARTHEST), -FARTHEST, FARTHEST)
    return np.column_stack([white, np.sqrt((white**2).sum(axis=1))])


def _plot(evidence: Evidence, other: Prevalence) -> Drawing:
    pat = Prevalence(
        min(1.0, evidence.regional.details["pat"]),
        n_labeled=evidence.answer.n_labeled,
        n_unlabeled=evidence.answer.n_unlabeled,
        method="PAT",
    )
    answers = {"RCQ": evidence.regional, "PAT": pat, "DEDPUL": other}
    if evidence.answer.method != "RCQ":
        answers["this model"] = evidence.answer
    return Drawing(
        PrevalenceDisplay.from_predictions,
        {
            "prevalences": list(answers.values()),
            "labels": list(answers),
            "title": "What different methods find",
        },
        size=(5.0, 3.8),
    )
