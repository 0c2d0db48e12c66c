"""What poscount's classes are made of in scikit-learn, or stand-ins in a process that only counts.

Importing scikit-learn takes a second of CPU, most of it for scipy.stats and pandas, and a model
from a file that counts the rows of other files uses nothing of it. So `poscount quantify` does
without it (`do_without`), and everything else has scikit-learn's own classes.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import clone as clone
    from sklearn.utils._param_validation import HasMethods as HasMethods
    from sklearn.utils._param_validation import Interval as Interval
    from sklearn.utils._param_validation import StrOptions as StrOptions

_PLACES = {
    "BaseEstimator": "sklearn.base",
    "clone": "sklearn.base",
    "HasMethods": "sklearn.utils._param_validation",
    "Interval": "sklearn.utils._param_validation",
    "StrOptions": "sklearn.utils._param_validation",
}
_counts_only = False


def do_without() -> None:
    """Use the stand-ins from now on, unless scikit-learn or one of our classes is there already."""
    global _counts_only
    _counts_only = not {"sklearn", "poscount.columns"} & set(sys.modules)


def check_is_fitted(estimator: Any) -> None:
    """Raise scikit-learn's `NotFittedError` if nothing has been learned yet."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(estimator)):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)


class StandIn:
    """As much of an estimator as a model from a file needs to count."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor and their values."""
        if type(self).__init__ is object.__init__:
            return {}
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names}


def _copy(estimator: StandIn) -> StandIn:
    return type(estimator)(**estimator.get_params())


def _unchecked(*_: Any, **__: Any) -> None:
    """Stand for a condition on a parameter, which only `fit` checks."""


_STAND_INS = {"BaseEstimator": StandIn, "clone": _copy}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _counts_only:
        return _STAND_INS.get(name, _unchecked)
    return getattr(importlib.import_module(_PLACES[name]), name)
