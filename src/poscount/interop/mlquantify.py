"""Quantifiers of poscount as quantifiers of mlquantify."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.interop.positives_only import PositivesOnly

try:
    from mlquantify.base import BaseQuantifier
    from mlquantify.utils import validate_prevalences
except ImportError as error:
    raise ImportError(
        'This adapter needs mlquantify: pip install "poscount[mlquantify]".'
    ) from error


class MLQuantifyQuantifier(PositivesOnly, BaseQuantifier):
    """A quantifier of poscount, for mlquantify's protocols and model selection.

    mlquantify calls `fit` with labelled rows of both classes. This adapter learns from the
    positives among them only. The features of the other rows are not used, and their label only
    names the other share.

    Parameters
    ----------
    quantifier : quantifier
        Any quantifier of poscount, or a pipeline that ends in one; a clone of it is fitted. With a
        `random_state`, the same data give the same answer.
    positive : label, optional
        The positive class; the larger of the two labels if None.

    Attributes
    ----------
    quantifier_ : quantifier
        The fitted clone. ``quantifier_.quantify(X)`` has the interval and the warnings.
    classes_ : ndarray
        The two labels, sorted.
    positive_ : label
        The positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from mlquantify.model_selection import apply_protocol
    >>> from poscount import PAT
    >>> from poscount.interop.mlquantify import MLQuantifyQuantifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + np.where(y == 1, 0, 6)[:, np.newaxis]
    >>> model = MLQuantifyQuantifier(PAT(random_state=0))
    >>> result = apply_protocol(model, X, y, protocol="app", batch_size=500, random_state=0)
    >>> bool(result["MAE"].mean() < 0.05)
    True
    """

    def predict(self, X: Any) -> dict[Any, float] | np.ndarray:
        """Share of each class in a sample, in the form set in mlquantify's configuration."""
        return validate_prevalences(self, self._shares(X), self.classes_)
