"""Quantifiers of poscount as quantifiers of QuaPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.interop.positives_only import PositivesOnly

try:
    from quapy.method.base import BinaryQuantifier
except ImportError as error:
    raise ImportError('This adapter needs QuaPy: pip install "poscount[quapy]".') from error


class QuaPyQuantifier(PositivesOnly, BinaryQuantifier):
    """A quantifier of poscount, for QuaPy's protocols, evaluation and model selection.

    QuaPy calls `fit` with labelled rows of both classes. This adapter learns from the positives
    among them only. The features of the other rows are not used, and their label only puts the
    shares in QuaPy's order.

    Parameters
    ----------
    quantifier : quantifier
        Any quantifier of poscount, or a pipeline that ends in one; a clone of it is fitted. With a
        `random_state`, the answers do not depend on numpy's global generator, which QuaPy's
        protocols reseed.
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
    >>> from quapy.data import LabelledCollection
    >>> from quapy.evaluation import evaluate
    >>> from quapy.protocol import APP
    >>> from poscount import PAT
    >>> from poscount.interop.quapy import QuaPyQuantifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + np.where(y == 1, 0, 6)[:, np.newaxis]
    >>> model = QuaPyQuantifier(PAT(random_state=0)).fit(X[:1000], y[:1000])
    >>> protocol = APP(LabelledCollection(X[1000:], y[1000:]), sample_size=500, repeats=1)
    >>> bool(evaluate(model, protocol, error_metric="mae") < 0.05)
    True
    """

    def predict(self, X: Any) -> np.ndarray:
        """Share of each class in a sample, in the order of `classes_`."""
        return self._shares(X)
