"""The methods as the experiments name them: ours, and the published forms of the paper's columns.

A method is a name of the registry, one of the names below, or a name of the registry with
parameters: ``pat:q=0.5`` or ``en:gamma=0.1,held_out=False``.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from poscount import registry
from poscount.experiments.oracle import BFT


class Method(NamedTuple):
    """A method of an experiment.

    Attributes
    ----------
    name : str
        What results are stored under.
    label : str
        What tables call it.
    column : str or None
        Its column in the paper's tables.
    model : str
        Name in the registry, with parameters; methods with the same one are computed together.
    answer : str or None
        Which of the model's `details` is this method's estimate; None for its prevalence.
    """

    name: str
    label: str
    column: str | None
    model: str
    answer: str | None = None


# What the authors' solver left at lam = 1, in the mean: benchmarks/km_solver.py.
_KM_PUBLISHED = "km1:lam_max=8.0,slack=0.00017"

_NAMED = {
    method.name: method
    for method in [
        Method("pat", "PAT", "PAT_M", "pat"),
        Method("odin", "ODIn", "ODIn_M", "odin"),
        Method("en-auto", "EN (auto)", "EN_auto", "en:gamma=auto,held_out=False"),
        # What scikit-learn called "scale" when the paper was written.
        Method("en-scale", "EN (scale)", "EN_scale", "en:gamma=std,held_out=False"),
        Method("pe-published", "PE (as published)", "PE", "pe:published=True"),
        Method("km1-published", "KM1 (as published)", "KM1", _KM_PUBLISHED, "KM1"),
        Method("km2-published", "KM2 (as published)", "KM2", _KM_PUBLISHED, "KM2"),
        Method("km1", "KM1", None, "km1", "KM1"),
        Method("km2", "KM2", None, "km1", "KM2"),
        Method("tice", "TIcE", "TIcE", "tice"),
        Method("extice", "ExTIcE", "ExTIcE", "extice"),
        Method("ranfoce", "RanFocE", "RanFocE", "ranfoce"),
        Method("minimum", "min(ExTIcE, PAT)", "min(ExTIcE,PAT_M)", "minimum"),
        Method("bft", "BFT (oracle)", "BFT_M", "bft"),
        Method("pat-shrunk", "PAT, shrunk", None, "pat:scorer=mahalanobis-shrunk"),
        Method("pat-one-class-svm", "PAT, one-class SVM", None, "pat:scorer=one-class-svm"),
        Method("pat-local-outlier-factor", "PAT, LOF", None, "pat:scorer=local-outlier-factor"),
        Method(
            "pat-isolation-forest", "PAT, isolation forest", None, "pat:scorer=isolation-forest"
        ),
    ]
}

PAPER = tuple(name for name, method in _NAMED.items() if method.column)
SCORERS = ("pat", *(name for name in _NAMED if name.startswith("pat-")))
GROUPS = {
    "paper": PAPER,
    "scorers": SCORERS,
    "all": tuple(dict.fromkeys([*PAPER, *registry.METHODS])),
}


def names(wanted: list[str]) -> list[str]:
    """Names of methods, with groups ("paper", "scorers", "all") written out, and each once.

    Examples
    --------
    >>> names(["pat", "scorers"])[:3]
    ['pat', 'pat-shrunk', 'pat-one-class-svm']
    """
    found = [name for item in wanted for name in GROUPS.get(item, (item,))]
    for name in found:
        resolve(name)
    return list(dict.fromkeys(found))


def resolve(name: str) -> Method:
    """Method by its name; an unknown one is an error that lists the known ones.

    Examples
    --------
    >>> resolve("pat").column
    'PAT_M'
    >>> resolve("pat:q=0.5").label
    'PAT (q=0.5)'
    """
    if name in _NAMED:
        return _NAMED[name]
    stem, _, parameters = name.partition(":")
    if stem not in registry.METHODS:
        known = ", ".join(dict.fromkeys([*registry.METHODS, *_NAMED, *GROUPS]))
        raise ValueError(
            f"There is no method {name!r}; the methods are {known}, and those of the registry "
            "with parameters, such as pat:q=0.5."
        )
    _parameters(parameters, name)
    label = registry.method(stem).__name__
    return Method(name, f"{label} ({parameters})" if parameters else label, None, name)


def make(model: str, seed: int) -> Any:
    """Quantifier of a `Method.model`, or the oracle, unfitted."""
    stem, _, text = model.partition(":")
    if stem == "bft":
        return BFT(random_state=seed)
    parameters = _parameters(text, model)
    if isinstance(parameters.get("scorer"), str):
        parameters["scorer"] = registry.scorer(parameters["scorer"])
    return registry.method(stem)(**parameters, random_state=seed)


def _parameters(text: str, method: str) -> dict[str, Any]:
    """Read ``a=1,b=auto``: Python literals where they are ones, text otherwise."""
    parameters = {}
    for part in filter(None, re.split(r",(?![^(]*\))", text)):  # not inside of brackets
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"Method {method!r}: {part!r} is no parameter; write name=value.")
        try:
            parameters[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[key] = value
    return parameters
