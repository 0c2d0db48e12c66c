"""All methods by name: what the command line, the experiments, the tests and the docs go by."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from poscount import persistence

METHODS = {
    "pat": "poscount.reusable.pat:PAT",
    "odin": "poscount.reusable.odin:ODIn",
    "km1": "poscount.transductive.km:KM1",
    "km2": "poscount.transductive.km:KM2",
}

SCORERS = {
    "mahalanobis": "poscount.scorers.mahalanobis:Mahalanobis",
}


def method(name: str) -> type[BaseEstimator]:
    """Class of a quantifier by its name.

    Examples
    --------
    >>> method("pat").__name__
    'PAT'
    """
    if name not in METHODS:
        raise ValueError(f"There is no method {name!r}; the methods are {', '.join(METHODS)}.")
    return _resolve(METHODS[name])


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Load a model that `save` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : path
        The model file.
    trusted : sequence of str, optional
        Types of a scorer from another library than scikit-learn that the file may build. The
        error of a file that needs them lists them.

    Returns
    -------
    Quantifier
        The fitted model.
    """
    return persistence.load(path, _class_named, trusted)


def _class_named(name: str) -> type[BaseEstimator]:
    for place in (*METHODS.values(), *SCORERS.values()):
        if place.endswith(f":{name}"):
            return _resolve(place)
    raise ValueError(f"it needs a class {name!r}, which this poscount does not have")


def _resolve(place: str) -> type[BaseEstimator]:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
