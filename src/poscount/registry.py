"""All methods and scorers by name.

The public names, the command line, the experiments, the tests and the documentation use it.
Nothing is imported before it is needed.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poscount.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# A file among these whose ``__all__`` names classes declares them as methods.
_FILES = ("methods/*.py", "methods/regions/*.py", "methods/pu/*.py")
_DECLARATION = re.compile(r"^__all__ = \[(.*)\]$", re.MULTILINE)


def _declared_methods() -> Iterator[tuple[str, str]]:
    """Names and places of the methods, found in their files without importing them."""
    package = Path(__file__).parent
    for file in (file for pattern in _FILES for file in sorted(package.glob(pattern))):
        module = ".".join(["poscount", *file.relative_to(package).with_suffix("").parts])
        declared = _DECLARATION.search(file.read_text(encoding="utf-8"))
        for name in re.findall(r'"(\w+)"', declared[1]) if declared else ():
            yield name.lower(), f"{module}:{name}"


METHODS = dict(_declared_methods())

# What models hold besides methods and scorers.
_PARTS = (
    "poscount.calibration.calibration:Calibration",
    "poscount.data.columns:Columns",
    "poscount.data.constants:Constants",
    "poscount.data.projection:Projection",
    "poscount.data.learned_projection:LearnedProjection",
    "poscount.methods.bootstrap:Bootstrap",
    "poscount.methods.regions.negatives:RCQWithNegatives",
    "poscount.methods.regions.multi_rcq:MultiRCQ",
    "poscount.methods.regions.learned_score:LearnedScore",
    "poscount.methods.regions.part:RegionPart",
    "poscount.methods.regions.targets:TargetRegions",
    "poscount.methods.regions.discriminant:Discriminant",
)

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
    from poscount.storage import model_files

    return model_files.load(path, _class_named, _shipped, trusted)


def _shipped(name: str) -> BaseEstimator:
    from poscount.calibration.files import shipped

    return shipped(name)


def _class_named(name: str) -> type[BaseEstimator]:
    places = [*METHODS.values(), *(place for place, _ in SCORERS.values()), *_PARTS]
    for place in places:
        if place.startswith("poscount.") and place.endswith(f":{name}"):
            return _resolve(place)
    raise ValueError(f"it needs a class {name!r}, which this poscount does not have")


def _resolve(place: str) -> type[BaseEstimator]:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
