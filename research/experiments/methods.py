"""The methods under the names that the experiments use, the paper's variants of them included.

A method is a name in the registry, one of the names below, or a name in the registry with
parameters: ``pat:q=0.5`` or ``en:gamma=0.1,held_out=False``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from poscount import registry
from poscount.data.rows import InputSupport, Rows
from poscount.scorers import fit_scorer, score
from research.datasets import CATALOG
from research.experiments.acc import ACC


class Method(NamedTuple):
    """A method of an experiment.

    Attributes
    ----------
    name : str
        The name that its results are stored under.
    label : str
        Its name in tables.
    column : str or None
        Its column in the paper's tables.
    model : str
        Name in the registry, with parameters; methods with the same model are computed together.
    answer : str or None
        The entry of the model's `details` that is this method's estimate; None for its prevalence.
    """

    name: str
    label: str
    column: str | None
    model: str
    answer: str | None = None


# The mean of what the authors' solver left at lam = 1: see research/tuning/README.md.
_KM_PUBLISHED = "km1:lam_max=8.0,slack=0.00017,balanced=False"

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
        Method("cc", "CC (negatives known)", None, "acc", "CC"),
        Method("acc", "ACC (negatives known)", None, "acc"),
        Method("pat-shrunk", "PAT, shrunk", None, "pat:scorer=mahalanobis-shrunk"),
        Method("pat-one-class-svm", "PAT, one-class SVM", None, "pat:scorer=one-class-svm"),
        Method("pat-local-outlier-factor", "PAT, LOF", None, "pat:scorer=local-outlier-factor"),
        Method(
            "pat-isolation-forest", "PAT, isolation forest", None, "pat:scorer=isolation-forest"
        ),
    ]
}

_PAPER = tuple(name for name, method in _NAMED.items() if method.column)
GROUPS = {
    "paper": _PAPER,
    "scorers": ("pat", *(name for name in _NAMED if name.startswith("pat-"))),
    "all": tuple(dict.fromkeys([*_PAPER, *registry.METHODS])),
}


def select(names: Iterable[str]) -> list[Method]:
    """Methods by name, each once; the groups "paper", "scorers" and "all" stand for their members.

    Examples
    --------
    >>> [method.name for method in select(["pat", "scorers"])][:3]
    ['pat', 'pat-shrunk', 'pat-one-class-svm']
    """
    members = (member for name in names for member in GROUPS.get(name, (name,)))
    return [resolve(name) for name in dict.fromkeys(members)]


def resolve(name: str) -> Method:
    """Method by its name; an unknown name is an error that lists the known ones.

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


def label_of(name: str) -> str:
    """Name of a method in tables; one that this version does not know keeps its name."""
    try:
        return resolve(name).label
    except ValueError:
        return name


def column_of(name: str) -> str | None:
    """Column of a method in the paper's tables, if it has one."""
    method = _NAMED.get(name)
    return method.column if method else None


def in_order(names: Iterable[str]) -> list[str]:
    """Names in the order of the tables: the paper's methods, then the others as registered."""
    known = [*GROUPS["all"], *GROUPS["scorers"]]
    return sorted(names, key=lambda name: (known.index(name) if name in known else 1000, name))


def make(model: str, seed: int, data_set: str) -> Any:
    """Unfitted quantifier of a `Method.model`, or a baseline, for a data set given by its key."""
    stem, _, text = model.partition(":")
    if stem == "bft":
        return BFT(random_state=seed)
    if stem == "acc":
        return ACC(random_state=seed)
    parameters = _parameters(text, model)
    if isinstance(parameters.get("scorer"), str):
        parameters["scorer"] = registry.scorer(parameters["scorer"])
    if stem in ("rcq", "trcq") and data_set.partition(":")[0] in CATALOG:
        # The shipped calibrations are learned from the paper's data sets, and none judges itself.
        parameters.setdefault("calibration", "null")
    return registry.method(stem)(**parameters, random_state=seed)


def _parameters(text: str, method: str) -> dict[str, Any]:
    """Read ``a=1,b=auto``: values are Python literals if possible, and text otherwise."""
    parameters = {}
    for part in filter(None, re.split(r",(?![^(]*\))", text)):  # not inside brackets
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"Method {method!r}: {part!r} is no parameter; write name=value.")
        try:
            parameters[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[key] = value
    return parameters


class BFT:
    """Best fixed threshold: classify and count with the Mahalanobis score, for every threshold.

    Of the thresholds at the percentiles 0, 1, ..., 100 of the training scores, the report takes
    the one with the lowest error over the experiment's own samples. That needs the truth, so BFT is
    an oracle to compare with and not a quantifier: it has no `quantify`.

    Parameters
    ----------
    random_state : int
        Seed of the folds of the training scores.

    References
    ----------
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bft = BFT(random_state=0).fit(rng.normal(size=(500, 2)))
    >>> sample = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(700, 2)) + 9])
    >>> by_percentile = bft.classify_and_count(sample)
    >>> by_percentile.shape, round(float(by_percentile[50]), 1)
    ((101,), 0.1)
    """

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, positives: np.ndarray) -> Self:
        """Learn the scorer and the thresholds from positives."""
        self.scorer_, training = fit_scorer(
            None, Rows(positives, None, InputSupport()), self.random_state
        )
        self.thresholds_ = np.percentile(training, np.arange(101))
        return self

    def classify_and_count(self, sample: np.ndarray) -> np.ndarray:
        """Share of the sample above each threshold."""
        scores = np.sort(score(self.scorer_, sample))
        return 1 - np.searchsorted(scores, self.thresholds_, side="right") / len(scores)
