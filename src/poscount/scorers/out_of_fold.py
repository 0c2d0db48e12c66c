"""Out-of-fold training scores: each fold is scored by a scorer fitted on the other folds."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from poscount.data.rows import Rows
from poscount.errors import InputError
from poscount.scorers.detector import as_scorer, score
from poscount.scorers.mahalanobis import Mahalanobis
from poscount.seeds import own_global_generator, seed_scorer, stream
from poscount.threads import one_blas_thread

N_FOLDS = 10
# Of positives with one score.
MOST_TIED = 0.05
DECIMALS = 6


def fit_scorer(
    scorer: BaseEstimator | None, positives: Rows, seed: int
) -> tuple[BaseEstimator, np.ndarray]:
    """Fit a scorer on all positives, and score each positive by one that was not fitted on it.

    Ten shuffled folds, as in the authors' code (the paper says k), because a scorer gives its own
    training rows scores that are too high.

    Returns
    -------
    fitted : BaseEstimator
        The scorer fitted on all positives, for new rows.
    training_scores : ndarray
        Out-of-fold score of each positive.
    """
    n_rows = len(positives)
    if n_rows < N_FOLDS:
        raise ValueError(
            f"At least {N_FOLDS} positives are needed, one for each fold of the training scores, "
            f"got {n_rows} sample(s)."
        )
    fresh = as_scorer(scorer)
    seed_scorer(fresh, seed)
    block = positives.to_array()
    training_scores = np.empty(n_rows)
    folds = np.array_split(stream(seed, "folds").permutation(n_rows), N_FOLDS)
    ours = isinstance(fresh, Mahalanobis)
    with one_blas_thread(), nullcontext() if ours else own_global_generator(seed):
        fitted = as_scorer(fresh).fit(block)
        _check_rows_are_scored_one_by_one(fitted, block)
        for i, held_out in enumerate(folds):
            rest = np.concatenate(folds[:i] + folds[i + 1 :])
            try:
                fold_scorer = as_scorer(fresh).fit(_safe_indexing(block, rest))
            except ValueError as error:
                raise ValueError(
                    f"The scorer can be fitted on all {n_rows} positives, but not on nine tenths "
                    f"of them, as the out-of-fold training scores need: {error}"
                ) from error
            training_scores[held_out] = score(fold_scorer, _safe_indexing(block, held_out))
    if np.ptp(training_scores) == 0:
        raise ValueError(
            f"The scorer {type(fitted).__name__} gives every positive the same score, so it cannot "
            "tell positives from negatives: use other features or another scorer."
        )
    return fitted, training_scores


def own_if_tied(scorer: BaseEstimator, design: np.ndarray, out_of_fold: np.ndarray) -> np.ndarray:
    """Scores of positives by the scorer of all of them, if many share one; else those out of fold.

    Out of fold, equal rows have slightly different scores, and edges would be placed between them;
    the equal rows of a sample would then all be on one side. Tables of few words are like that.
    """
    with one_blas_thread():
        own = score(scorer, design)
    _, times = np.unique(own.round(DECIMALS), return_counts=True)
    return own if times.max() > MOST_TIED * len(own) else out_of_fold


def _check_rows_are_scored_one_by_one(scorer: BaseEstimator, block: Any) -> None:
    try:
        alone = score(scorer, _safe_indexing(block, [0]))[0]
    except (IndexError, InputError) as error:
        # PyOD's COF looks for neighbours among the new rows, and its SOS and CD answer NaN.
        raise _not_by_itself(scorer, "cannot score a row by itself") from error
    among_others = score(scorer, _safe_indexing(block, list(range(N_FOLDS))))[0]
    # PyOD's ECOD and COPOD rank new rows among each other, so that counts could not add up.
    if not np.isclose(alone, among_others, rtol=1e-6, atol=0, equal_nan=True):
        raise _not_by_itself(scorer, "scores a row differently depending on the rows beside it")


def _not_by_itself(scorer: BaseEstimator, fault: str) -> ValueError:
    return ValueError(
        f"The scorer {type(scorer).__name__} {fault}, so rows cannot be counted in batches: use "
        "another scorer."
    )
