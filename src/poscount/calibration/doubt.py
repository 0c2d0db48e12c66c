"""Whether assumptions look broken: what has been learned from samples in which they were."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from poscount.calibration.trees import N_LEAVES, N_SPLITS, Trees
from poscount.storage import container, model_files
from poscount.storage.schema import Array, Field, ListOf, Number, Text, check_estimator, require

# What may be broken; the first is nothing. Columns recorded differently: another sensor, night or
# laboratory. Prepared differently: other units, order or scaling. Codes for missing values.
# Positives that are not typical: picked, or of kinds in other shares. Columns that tell where or
# when, and not what. Negatives among the positives. Tables that were swapped.
BREAKS = (
    *("none", "recorded", "prepared", "codes", "typical", "context", "contaminated"),
    "swapped",
)
# Answers from which on the next limit holds: where hardly any row is positive, clean samples look
# most like broken ones.
ANSWERS = np.array([0.005, 0.05, 0.2, 0.5])
LARGEST_LEAF, LARGEST_VALUE = 30.0, 1e6
DECIMALS = 9


class Doubt(BaseEstimator):
    """How likely each assumption is broken, in a bank in which one often was.

    Attributes
    ----------
    columns_ : list of str
        Columns of the lines that it looks at.
    feature_, threshold_, missing_right_, leaf_ : ndarray
        The trees (`poscount.calibration.trees.Trees`): an ensemble for each of `BREAKS`.
    check_ : ndarray of shape (5,)
        Doubt above which an answer is to be checked, by `ANSWERS`.
    do_not_use_ : float
        Doubt above which an answer is not to be used.
    provenance_ : str
        Where it comes from, as JSON.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "columns_": ListOf(Text(), "columns", distinct=True),
        "feature_": Array("uint8", (len(BREAKS), "trees", N_SPLITS)),
        "threshold_": Array("float32", (len(BREAKS), "trees", N_SPLITS), infinite=True),
        "missing_right_": Array("bool", (len(BREAKS), "trees", N_SPLITS)),
        "leaf_": Array(
            "float32", (len(BREAKS), "trees", N_LEAVES), least=-LARGEST_LEAF, most=LARGEST_LEAF
        ),
        "check_": Array("float64", (len(ANSWERS) + 1,), least=0, most=1),
        "do_not_use_": Number(0, 1),
        "provenance_": Text(),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every tree looks at a column that there is."""
        known = self.feature_.max(initial=0) < len(self.columns_)
        require(known, "a tree looks at a column that there is not.")

    def to_check(self, doubt: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Which answers are to be checked.

        Parameters
        ----------
        doubt : ndarray of shape (n_samples,)
            Probability that something is broken.
        answers : ndarray of shape (n_samples,)
            Prevalences.
        """
        return doubt > self.check_[np.searchsorted(ANSWERS, answers, side="right")]

    def probabilities(self, lines: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Probability of each of `BREAKS`, of shape (n_samples, n_breaks).

        Parameters
        ----------
        lines : ndarray of shape (n_samples, n_columns)
            NaN where something is not known.
        names : sequence of str
            Names of these columns.
        """
        chosen = lines[:, [list(names).index(name) for name in self.columns_]]
        trees = Trees(self.feature_, self.threshold_, self.missing_right_, self.leaf_)
        sums = trees.predict(as_seen(chosen))
        powers = np.exp(sums - sums.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).round(DECIMALS)


def as_seen(lines: np.ndarray) -> np.ndarray:
    """Lines as trees look at them."""
    return np.clip(lines, -LARGEST_VALUE, LARGEST_VALUE).astype(np.float32)


_ARRAYS = ("feature", "threshold", "missing_right", "leaf", "check")
_META = ("columns", "do_not_use", "provenance")


def write_doubt(doubt: Doubt, path: str) -> None:
    """Write it to a file."""
    meta, arrays = (
        {name: getattr(doubt, f"{name}_") for name in part} for part in (_META, _ARRAYS)
    )
    container.write(path, "doubt", meta, arrays)


@functools.cache
def shipped_doubt() -> Doubt:
    """The one that poscount comes with."""
    with resources.as_file(resources.files("poscount.calibration") / "doubt.npz") as path:
        meta, arrays = container.read(path, "doubt")
    doubt = Doubt()
    for name, value in {**meta, **arrays}.items():
        setattr(doubt, f"{name}_", value)
    check_estimator(doubt)
    return doubt


@functools.cache
def shipped_doubt_hash() -> str:
    """Content hash of the doubt that poscount comes with, which models keep."""
    return model_files.content_hash(shipped_doubt())
