"""All methods and scorers by name: the command line, experiments, tests and docs go by it.

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from poscount.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

METHODS = {
    "pat": "poscount.reusable.pat:PAT",
    "odin": "poscount.reusable.odin:ODIn",
    "rcq": "poscount.reusable.rcq:RCQ",
    "en": "poscount.transductive.en:EN",
    "pe": "poscount.transductive.pe:PE",
    "penl1": "poscount.transductive.pen_l1:PenL1",
    "alphamax": "poscount.transductive.alphamax:AlphaMax",
    "km1": "poscount.transductive.km:KM1",
    "km2": "poscount.transductive.km:KM2",
    "tice": "poscount.transductive.tice:TIcE",
    "extice": "poscount.transductive.extice:ExTIcE",
    "ranfoce": "poscount.transductive.ranfoce:RanFocE",
    "bbe": "poscount.transductive.bbe:BBE",
    "dedpul": "poscount.transductive.dedpul:DEDPUL",
    "trcq": "poscount.transductive.trcq:TRCQ",
    "minimum": "poscount.ensemble:Minimum",
}

# What the command line and the web page use when nobody says otherwise.
DEFAULT_METHOD = "rcq"

# The detectors of scikit-learn see standardised features, because their answers depend on scale.
SCORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "mahalanobis": ("poscount.scorers.mahalanobis:Mahalanobis", {}),
    "mahalanobis-shrunk": (
        "poscount.scorers.mahalanobis:Mahalanobis",
        {"covariance": "ledoit-wolf"},
    ),
    "one-class-svm": ("sklearn.svm:OneClassSVM", {"gamma": "scale"}),
    "local-outlier-factor": ("sklearn.neighbors:LocalOutlierFactor", {"novelty": True}),
    "isolation-forest": ("sklearn.ensemble:IsolationForest", {}),
    "gaussian-mixture": ("sklearn.mixture:GaussianMixture", {"n_components": 3}),
}


def method(name: str) -> type[BaseEstimator]:
    """Class of a quantifier by its name.

    Parameters
    ----------
    name : str
        Key of `METHODS`.

    Examples
    --------
    >>> method("pat").__name__
    'PAT'
    """
    if name not in METHODS:
        raise InputError(
            f"There is no method {name!r}; the methods are {', '.join(METHODS)}.", option="method"
        )
    return _resolve(METHODS[name])


def scorer(name: str) -> BaseEstimator:
    """Scorer by its name, ready to be fitted.

    Parameters
    ----------
    name : str
        Key of `SCORERS`.

    Examples
    --------
    >>> scorer("mahalanobis-shrunk")
    Mahalanobis(covariance='ledoit-wolf')
    """
    if name not in SCORERS:
        raise InputError(
            f"There is no scorer {name!r}; the scorers are {', '.join(SCORERS)}.", option="scorer"
        )
    place, parameters = SCORERS[name]
    made = _resolve(place)(**parameters)
    if place.startswith("poscount."):
        return made
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), made)


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Load a model that `save` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : path
        The model file.
    trusted : sequence of str, optional
        Types of a scorer from another library that the file may build, beyond those that skops
        knows to be safe. The error of a file that needs them lists them.

    Returns
    -------
    Quantifier
        The fitted model.
    """
    from poscount import persistence

    return persistence.load(path, _class_named, trusted)


def _class_named(name: str) -> type[BaseEstimator]:
    places = [*METHODS.values(), *(place for place, _ in SCORERS.values())]
    for place in places:
        if place.startswith("poscount.") and place.endswith(f":{name}"):
            return _resolve(place)
    raise ValueError(f"it needs a class {name!r}, which this poscount does not have")


def _resolve(place: str) -> type[BaseEstimator]:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
