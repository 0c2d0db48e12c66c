"""What all transductive methods share: they learn from the positives and the sample together."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed

from poscount import constraints
from poscount.base import Quantifier
from poscount.intervals import bootstrap_interval, estimate_from_halves
from poscount.prevalence import Estimate, Interval, Prevalence
from poscount.seeds import stream
from poscount.validation import Rows


class TransductiveQuantifier(Quantifier):
    """A quantifier that learns from the positives and the sample together, anew for each sample.

    A subclass only computes: `_estimate_from` gets both as float64 matrices, and a generator. If it
    gives no interval, one is made by resampling on request (`bootstrap`). The subclass has an
    ``__init__`` of its own only if it has other parameters.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_features)
        The positives.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "bootstrap": [constraints.Interval(Integral, 2, None, closed="left"), None],
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    positives_: np.ndarray

    def __init__(
        self,
        *,
        bootstrap: int | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        self.positives_ = np.array(self._matrix(rows), dtype=np.float64, order="C")

    def _matrix(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows.whole(), dtype=np.float64, order="C")

    def _quantify(self, rows: Rows) -> Prevalence:
        sample = self._matrix(rows)
        generator = stream(self.seed_, "estimate")
        estimate = self._estimate_from(self.positives_, sample, generator)
        if estimate.interval is None and self.bootstrap:
            interval = self._bootstrap_interval(sample, estimate.value)
            estimate = estimate._replace(interval=interval)
        return self._prevalence(estimate, len(rows))

    def _bootstrap_interval(self, sample: np.ndarray, value: float) -> Interval:
        # The matrices are arguments of their own, so that processes share them in mapped memory.
        replicates = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(estimate_from_halves)(
                self._estimate_from, self.positives_, sample, self.seed_, i
            )
            for i in range(cast(int, self.bootstrap))
        )
        return bootstrap_interval(value, np.array(replicates), self.confidence)

    @abstractmethod
    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimate:
        """Estimate the prevalence in the sample."""
