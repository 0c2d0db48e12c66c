"""What the checks look at: for one sample or for many, from whoever has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poscount.checks.columns import ColumnEvidence
from poscount.counts.missing_counts import MissingCounts
from poscount.data.columns import Columns
from poscount.data.repeated_values import RepeatedValues
from poscount.data.rows import Rows
from poscount.scorers import Mahalanobis

if TYPE_CHECKING:
    from poscount.checks.context_column import Context


class MissingEvidenceError(Exception):
    """A check needs evidence that is not there."""


class UnknownValues(NamedTuple):
    """Missing values and new categories of samples: values that the positives could not have.

    Negatives may well have other gaps and other categories than positives. But from positives and
    sample alone this cannot be told from a form, a code list or a habit that has changed since the
    positives were labelled; and then true positives are taken for negatives.

    Attributes
    ----------
    columns : Columns
        Of the positives.
    missing, unseen : ndarray of shape (n_samples, n_columns)
        Rows without a value, and with a category that no positive has.
    incomplete : ndarray of shape (n_samples,)
        Rows that lack any value.
    different : ndarray of shape (n_samples,)
        Rows with another value than all positives in a column in which these never vary.
    n_rows : ndarray of shape (n_samples,)
        All rows.
    vanished : ndarray of shape (n_samples, n_columns), optional
        Largest share of the positives that have one category which hardly a row has; 0 if there is
        no such category. None if the method does not count categories.
    """

    columns: Columns
    missing: np.ndarray
    unseen: np.ndarray
    incomplete: np.ndarray
    different: np.ndarray
    n_rows: np.ndarray
    vanished: np.ndarray | None = None

    @classmethod
    def of_rows(cls, rows: Rows, columns: Columns) -> UnknownValues:
        """Those of one sample."""
        return cls(columns, *MissingCounts.of_rows(rows, columns), np.array([len(rows)]))


class Evidence:
    """What the checks look at; asking for what nobody has filled in raises `MissingEvidenceError`.

    Methods fill in what they can. Arrays have an entry for each sample.

    Parameters
    ----------
    n_samples : int
    **known
        The attributes.
    """

    # Of the model. The scorer is that of the method, if it is this one; some of its features may
    # follow from others by construction, as categories do.
    n_labeled: int
    feature_names: Sequence[str]
    scorer: Mahalanobis
    n_redundant: int
    # Whether rows that differ from all positives in a column are not counted as positives.
    constants_count: bool
    # Largest share of positives with one score.
    max_tie_share: float
    # Whether RCQ has used PAT's rule, because it has too few positives for regions.
    answered_by_pat: bool
    # Positives given, and the share that are copies of others: 0 where values are coarse.
    n_positives_in: int
    duplicate_share: float
    # Values of columns that are far from all others (`poscount.checks.code_among_positives`).
    far_values: np.ndarray

    # The answer: its interval, and how far the smallest upper bound of regions is above the ratio.
    low: np.ndarray
    high: np.ndarray
    level: float
    gap: np.ndarray
    # Whether the calibration has seen nothing like the sample.
    unlike_training: np.ndarray
    # The share of past tasks like this that were not recognisable, if the user says that it is one;
    # else 0.
    not_recognisable: np.ndarray

    # How likely each of `poscount.calibration.doubt.BREAKS` is.
    broken: np.ndarray

    # What RCQ's regions say, whatever the method of the answer is: its prevalence and gap, PAT's
    # prevalence with the same score before its cap at 1, and (PAT - RCQ) / gap.
    estimate: np.ndarray
    region_gap: np.ndarray
    pat: np.ndarray
    disagreement: np.ndarray
    # The core of the positives: how overfull it is (`poscount.checks.overlap`), how differently the
    # sample is spread in it and how many independent comparisons that is worth
    # (`poscount.checks.core_differs`), and its rows as a share of those of positives alone.
    core_excess: np.ndarray
    core_difference: np.ndarray
    core_dof: float
    core_share: np.ndarray
    # Rows farther away than all positives; and those among the lowest tenth of the positives'
    # scores, over the share that positives would have there.
    beyond: np.ndarray
    at_fringe: np.ndarray
    # What the columns of the sample say, each by itself.
    columns: ColumnEvidence
    unknown_values: UnknownValues
    # Labelled positives whose rows are known, and the share of them that is in the sample.
    n_known: int
    positives_found: float
    # How often numbers repeat in columns in which they rarely do among the positives.
    repeated_values: RepeatedValues
    # Where all samples are from, if a column says so.
    context: Context

    def __init__(self, n_samples: int, **known: Any) -> None:
        self.n_samples = n_samples
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        # Only called for what is not there.
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingEvidenceError(name)

    def has(self, name: str) -> bool:
        """Whether it is there."""
        return name in self.__dict__

    def having(self, **more: Any) -> Evidence:
        """The same with more."""
        return Evidence(**{**self.__dict__, **more})
