"""Samples without any row that is like a typical positive."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome

# Of the rows that a sample of positives alone would have in the core.
SMALLEST = 0.01


def _look(evidence: Evidence) -> Outcome | Missing:
    core = evidence.core_share
    if isinstance(core, Missing):
        return core
    if core >= SMALLEST:
        sentence = "Some rows of the sample are like typical positives."
        return Outcome("ok", core, SMALLEST, sentence)
    sentence = "Hardly any row of the sample is like a typical positive."
    advice = (
        "If you expected positives, check that the sample was prepared as they were: same columns, "
        "units and order."
    )
    return Outcome("notice", core, SMALLEST, sentence, advice, caution=core)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    core = samples.core_share
    return not isinstance(core, Missing) and ~(core >= SMALLEST)


NOTHING_LIKE_POSITIVES = Check(
    code="nothing-like-positives",
    look=_look,
    concerns=_concerns,
    reason="nothing in the sample is like the positives",
    title="Typical positives in the sample",
    quantity="rows like typical positives, as a share of those in a sample of positives alone",
    cannot_detect="whether there are none, or they look different here",
)
