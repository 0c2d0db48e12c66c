"""What the checks look at: for one sample or for many, from whoever has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from poscount.checks.columns import ColumnEvidence
from poscount.checks.unknown_values import UnknownValues
from poscount.data.rows import Rows
from poscount.scorers import Mahalanobis

if TYPE_CHECKING:
    from poscount.checks.second_sample import Comparison


class MissingEvidenceError(Exception):
    """A check needs evidence that is not there.

    Parameters
    ----------
    reason : str
        Why not, in a sentence.
    option : str, optional
        The parameter of `diagnose` that would provide it.
    """

    def __init__(
        self, reason: str = "The method does not provide this.", option: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.option = option

    def again(self) -> MissingEvidenceError:
        """The same without a traceback, which would keep rows alive and grow."""
        return MissingEvidenceError(self.reason, self.option)


class Evidence:
    """What the checks look at; asking for what nobody has filled in raises `MissingEvidenceError`.

    A method fills in the first part, for the warnings of prevalences; `poscount.diagnostics` fills
    in everything that it can get about one sample, for the assumption report. Arrays have an entry
    for each sample.

    Parameters
    ----------
    n_samples : int
    missing : mapping of str to MissingEvidenceError, optional
        Why some of the evidence is not there.
    **known
        The attributes below.

    Attributes
    ----------
    n_labeled : int
        Number of positives.
    feature_names : sequence of str
        Names of the features.
    scorer : Mahalanobis
        The scorer of the method, if it is this one.
    n_redundant : int
        Features of the scorer that follow from others by construction, as categories do.
    max_tie_share : float
        Largest share of positives with one score (`poscount.checks.tied_scores`).
    answered_by_pat : bool
        Whether RCQ has used PAT's rule, because it has too few positives for regions.
    duplicate_share : float
        Share of the positives given that are copies of others, 0 where values are coarse.
    n_positives_in : int
        Number of positives given, copies included.
    low, high : ndarray
        Ends of the intervals.
    level : float
        Of the intervals.
    gap : ndarray
        How far the smallest upper bound is above the ratio, of an estimate that comes from regions.
    core_excess : ndarray
        How overfull the core of the positives is (`poscount.checks.overlap`).
    estimate, pat : ndarray
        RCQ's prevalence, and PAT's with the same score, before its cap at 1.
    region_gap : ndarray
        The gap of RCQ's regions, whatever the method of the estimate is.
    core_difference : ndarray
        How differently the cores of sample and positives are spread
        (`poscount.checks.core_differs`).
    core_dof : float
        How many independent comparisons that is worth.
    disagreement : ndarray
        (PAT - RCQ) / gap.
    columns : ColumnEvidence
        What the columns of the sample say, each by itself.
    unknown_values : UnknownValues
        Missing values, and categories that no positive has.
    core_share : ndarray
        Rows of the sample in the core, as a share of what it would have if all were positives.
    unlike_training : ndarray of bool
        Whether the calibration has seen nothing like the sample.
    n_rows, n_rows_used : ndarray of int
        Rows of the sample, and those that the method has used.
    count : float
        Estimated number of positives in the sample.
    seed : int
        Of the model.
    positives, sample : Rows
        All of them finite numbers.
    some_positives, some_rows : ndarray
        The same as matrices, or a random part of them if they are many.
    comparison : Comparison
        Of the sample with a second one.
    dedpul : float
        DEDPUL's estimate.
    """

    n_labeled: int
    feature_names: Sequence[str]
    scorer: Mahalanobis
    n_redundant: int
    max_tie_share: float
    answered_by_pat: bool
    duplicate_share: float
    n_positives_in: int
    low: np.ndarray
    high: np.ndarray
    level: float
    gap: np.ndarray
    core_excess: np.ndarray
    estimate: np.ndarray
    pat: np.ndarray
    region_gap: np.ndarray
    core_difference: np.ndarray
    core_dof: float
    disagreement: np.ndarray
    columns: ColumnEvidence
    unknown_values: UnknownValues
    core_share: np.ndarray
    unlike_training: np.ndarray
    n_rows: np.ndarray
    n_rows_used: np.ndarray
    count: float
    seed: int
    positives: Rows
    sample: Rows
    some_positives: np.ndarray
    some_rows: np.ndarray
    comparison: Comparison
    dedpul: float

    def __init__(
        self,
        n_samples: int,
        *,
        missing: Mapping[str, MissingEvidenceError] | None = None,
        **known: Any,
    ) -> None:
        self.n_samples = n_samples
        self._missing = dict(missing or {})
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        # Only called for what is not there.
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._missing.get(name, MissingEvidenceError()).again()

    def has(self, name: str) -> bool:
        """Whether it is there."""
        return name in self.__dict__

    def having(self, **more: Any) -> Evidence:
        """The same with more."""
        found = Evidence(self.n_samples, missing=self._missing)
        found.__dict__.update({**self.__dict__, **more})
        return found
