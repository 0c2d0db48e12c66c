"""What the user knows or chose, and the data cannot say, and how reports say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of RCQ and TRCQ, in standard deviations: the largest tolerance that cost less than half a point on
# samples recorded as the positives were (`python -m benchmarks.accuracy.recording`).
DEFAULT_TOLERANCE = 0.05
_RECOGNISABLE = (
    "It was said that somebody who knows the field could {} tell a positive from these columns."
)
_HOW_OFTEN = {True: "nearly always", False: "often not"}
_TOLERANCE = (
    "The estimate allows for columns that were recorded differently in the sample, by {:g} "
    "standard deviations of the positives."
)
_OWN_CALIBRATION = (
    "The share and its interval follow a calibration of your own ({}) instead of the one that "
    "poscount comes with."
)


def user_knowledge(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, among the parameters of a model or the details of a prevalence.

    Examples
    --------
    >>> user_knowledge({"recognisable": True, "tolerance": DEFAULT_TOLERANCE, "seed": 1})
    {'recognisable': True}
    """
    known: dict[str, Any] = {}
    if values.get("recognisable") is not None:
        known["recognisable"] = bool(values["recognisable"])
    # AlphaMax has tolerances of its own among its details.
    tolerance = values.get("tolerance")
    if isinstance(tolerance, float | int) and tolerance != DEFAULT_TOLERANCE:
        known["tolerance"] = float(tolerance)
    own = values.get("own_calibration") or next(
        filter(None, (getattr(value, "own_name", None) for value in values.values())), None
    )
    if own is not None:
        known["own_calibration"] = own
    return known


def knowledge_in_words(values: Mapping[str, Any]) -> list[str]:
    """A sentence for each thing that was said.

    Examples
    --------
    >>> knowledge_in_words({"tolerance": 0.1})  # doctest: +NORMALIZE_WHITESPACE
    ['The estimate allows for columns that were recorded differently in the sample, by 0.1 standard
     deviations of the positives.']
    """
    known, sentences = user_knowledge(values), []
    if "recognisable" in known:
        sentences.append(_RECOGNISABLE.format(_HOW_OFTEN[known["recognisable"]]))
    if "tolerance" in known:
        sentences.append(_TOLERANCE.format(known["tolerance"]))
    if "own_calibration" in known:
        sentences.append(_OWN_CALIBRATION.format(known["own_calibration"]))
    return sentences
