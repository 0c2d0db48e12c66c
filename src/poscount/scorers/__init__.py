"""Scorers: how much a row looks like a positive, learned from positives alone.

Only scoring lives here; counting the scores is left to the quantifiers.
"""

from poscount.scorers.detector import as_scorer, score
from poscount.scorers.mahalanobis import Mahalanobis
from poscount.scorers.out_of_fold import fit_scorer, own_if_tied

__all__ = ["Mahalanobis", "as_scorer", "fit_scorer", "own_if_tied", "score"]
