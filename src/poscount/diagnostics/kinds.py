"""The reading of a sample in which kinds of positives may have other shares than among the labels.

One set of regions cannot give it: it needs a count of each kind, so `SubclassRCQ` is fitted for it.
"""

from __future__ import annotations

from typing import Any

from poscount.base.quantifier import Quantifier
from poscount.checks import Evidence
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.results.prevalence import Prevalence
from poscount.results.what_if import WhatIf


def readings(
    model: Quantifier, answer: Prevalence, known: Evidence, sample: Any, positives: Any
) -> WhatIf | None:
    """The answer under each assumption that can be told; None without regions.

    Parameters
    ----------
    model : Quantifier
        Which gave the answer.
    answer : Prevalence
    known : Evidence
        From `poscount.diagnostics.evidence.gather`.
    sample, positives
        As in `poscount.diagnose`.
    """
    answers = [answer, *([known.view.answer] if known.has("view") else [])]
    answers = [each for each in answers if "what_if" in each.details]
    if not answers:
        return None
    found = answers[0].what_if()
    if positives is None or any(reading.code == "recognisable" for reading in found):
        return found
    names = getattr(model, "feature_names_in_", None)
    kinds = SubclassRCQ(confidence=answers[0].level, random_state=model.seed_).fit(
        positives,
        unlabeled=sample if "learned_high" in answers[0].details else None,
        features=None if names is None else names.tolist(),
    )
    if not kinds.subclass_parts_:
        return found
    return found.having(kinds.quantify(sample).what_if()["recognisable"])
