"""How a sample and its positives are spread along the score of a fitted model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from poscount.base.counting import CountingQuantifier
from poscount.data.rows import InputSupport, Rows
from poscount.scorers import fit_scorer

N_BINS = 40


class Scores(NamedTuple):
    """Scores of the positives, each by a scorer that was not fitted on it, and of a sample.

    Attributes
    ----------
    positives, sample : ndarray of float
        A higher score is more like a positive.
    """

    positives: np.ndarray
    sample: np.ndarray

    @property
    def edges(self) -> np.ndarray:
        """Edges of bins over the positives and as much space again below them.

        Negatives may be anywhere, and one that is very far away must not flatten the picture.
        """
        together = np.concatenate(self)
        top = together.max()
        lowest = np.quantile(self.positives, 0.01)
        bottom = max(together[np.isfinite(together)].min(), lowest - (top - lowest))
        return np.linspace(bottom, top, N_BINS + 1)

    def shares(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Share of the positives, and of the sample, in each bin.

        Examples
        --------
        >>> scores = Scores(np.array([2.0, 2.0]), np.array([0.0, 1.0, 2.0, 2.0]))
        >>> scores.shares(np.array([0, 1.5, 3]))
        (array([0., 1.]), array([0.5, 0.5]))
        """
        positives, sample = (np.histogram(each, edges)[0] / len(each) for each in self)
        return positives, sample


def has_scores(model: Any) -> bool:
    """Tell whether a model counts along a score, so that there is something to draw."""
    return isinstance(model, CountingQuantifier) and hasattr(
        getattr(model, "part_", model), "scorer_"
    )


def scores_of(model: CountingQuantifier, positives: Any, sample: Any) -> Scores:
    """Scores of the rows that a model was fitted on, and of a sample.

    Parameters
    ----------
    model : fitted PAT, ODIn or RCQ
    positives : array or frame
        The rows it was fitted on, which it does not keep. They are scored out of fold, as in `fit`,
        which takes as long as `fit` did.
    sample : array or frame

    Examples
    --------
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(200, 2))
    >>> model = RCQ(random_state=0).fit(positives)
    >>> scores = scores_of(model, positives, rng.normal(size=(50, 2)) + 9)
    >>> bool(scores.sample.max() < scores.positives.min())
    True
    """
    if not has_scores(model):
        raise TypeError(f"{type(model).__name__} does not count along one score: draw PAT or RCQ.")
    learned = model._sample(positives)
    learner: Any = getattr(model, "part_", model)
    given = getattr(learner, "n_positives_in_", model.n_labeled_)
    if len(learned) != given:
        raise ValueError(
            f"These are {len(learned)} positives, but the model was fitted on {given}: pass the "
            "same rows."
        )
    training = fit_scorer(clone(learner.scorer_), _seen_by_scorer(model, learned), model.seed_)[1]
    return Scores(training, model._scores_of(model._sample(sample)))


def _seen_by_scorer(model: CountingQuantifier, rows: Rows) -> Rows:
    if not rows.accepts.coded:
        return rows
    design = model.model_columns.design(rows.to_array())
    if not sparse.issparse(design):
        design = np.ascontiguousarray(design)
    return Rows(design, None, InputSupport(sparse=True))
