"""The contamination that outlier detectors ask for, estimated from inliers and a sample."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from poscount.methods.pat import PAT
from poscount.results.distribution import Interval
from poscount.results.prevalence import Prevalence


class Contamination(float):
    """Share of the rows of a sample that are outliers: a float that carries its interval.

    Attributes
    ----------
    interval : Interval
        Interval for the contamination of this sample.
    prevalence : Prevalence
        The share of inliers, with warnings and details; the contamination is 1 minus it.
    """

    prevalence: Prevalence

    def __new__(cls, prevalence: Prevalence) -> Contamination:
        """Take 1 minus the prevalence."""
        self = super().__new__(cls, 1 - prevalence)
        self.prevalence = prevalence
        return self

    @property
    def interval(self) -> Interval:
        """1 minus the interval of the prevalence."""
        rest = self.prevalence.interval
        assert rest is not None  # PAT always gives one
        return Interval(1 - rest.high, 1 - rest.low, rest.level)

    def __getnewargs__(self) -> tuple[Prevalence]:
        return (self.prevalence,)

    def __str__(self) -> str:
        return float.__repr__(self)

    def __repr__(self) -> str:
        low, high = self.interval.low, self.interval.high
        level = self.interval.level * 100
        return f"Contamination({float(self):.3f}, {level:g}% interval [{low:.3f}, {high:.3f}])"


def estimate_contamination(
    detector: BaseEstimator,
    positives: Any,
    sample: Any,
    *,
    confidence: float = 0.95,
    random_state: Any = None,
) -> Contamination:
    """Estimate the contamination of a sample, for a detector that asks for it.

    Parameters
    ----------
    detector : estimator
        A PyOD or scikit-learn detector; a copy of it is fitted.
    positives : array or frame
        Rows known to be inliers.
    sample : array or frame
        Rows, some of which are outliers.
    confidence : float, default=0.95
        Level of the interval.
    random_state : int, RandomState, Generator or None
        Seed.

    Returns
    -------
    Contamination
        1 minus the prevalence that PAT estimates with the detector's scores.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from poscount import estimate_contamination
    >>> rng = np.random.default_rng(0)
    >>> inliers = rng.normal(size=(300, 2))
    >>> sample = np.vstack([rng.normal(size=(800, 2)), rng.normal(size=(200, 2)) + 6])
    >>> share = estimate_contamination(IsolationForest(), inliers, sample, random_state=0)
    >>> share.interval.low < 0.2 < share.interval.high
    True
    """
    model = PAT(detector, confidence=confidence, random_state=random_state).fit(positives)
    return Contamination(model.quantify(sample))
