"""BFT, the best fixed threshold: what classify-and-count could do if it knew the truth."""

from __future__ import annotations

from typing import Self

import numpy as np

from poscount.scorers.detector import score
from poscount.scorers.out_of_fold import fit_scorer
from poscount.validation import InputSupport, Rows

PERCENTILES = np.arange(101)


class BFT:
    """Classify and count with the Mahalanobis score, for every threshold at once.

    Of the thresholds at the percentiles 0, 1, ..., 100 of the training scores, the experiment's
    report takes the one with the lowest error over the experiment's own samples. That needs the
    truth, so this is a yardstick of experiments and no quantifier: it has no `quantify`.

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
        self.thresholds_ = np.percentile(training, PERCENTILES)
        return self

    def classify_and_count(self, sample: np.ndarray) -> np.ndarray:
        """Share of the sample above each threshold."""
        scores = np.sort(score(self.scorer_, sample))
        return 1 - np.searchsorted(scores, self.thresholds_, side="right") / len(scores)
