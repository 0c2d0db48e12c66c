"""Model files: what a fitted estimator has learned, and nothing that could run on loading."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from poscount import container
from poscount.calibration.calibration import Calibration
from poscount.errors import FileError

FindClass = Callable[[str], type[BaseEstimator]]


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; skops writes a scorer from another library."""
    arrays: dict[str, np.ndarray] = {}
    description = _encode(model, "model", arrays)
    container.write(path, "model", {"model": description}, arrays)


def load(
    path: str | os.PathLike[str], find_class: FindClass, trusted: Sequence[str] = ()
) -> BaseEstimator:
    """Read a fitted model.

    Parameters
    ----------
    path : path
    find_class : callable
        Returns the class of one of our estimators by its name; raises ValueError for other names.
    trusted : sequence of str
        Types that a scorer from another library may use besides those that skops knows to be safe.
    """
    meta, arrays = container.read(path, "model")
    try:
        model = _decode(meta["model"], arrays, find_class, trusted)
        if not hasattr(model, "n_labeled_"):
            raise ValueError("there is no fitted quantifier in it.")
        return model
    except ImportError:
        raise  # skops is not installed
    except FileError as error:
        raise error.at(file=str(path)) from error
    except Exception as error:  # a malicious file may cause any
        raise FileError(f"it does not hold a usable model: {error}", file=str(path)) from error


def _encode(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[place] = value
        return {"array": place}
    if isinstance(value, np.ndarray | tuple | list):
        kind = type(value).__name__
        return {kind: [_encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, BaseEstimator) and type(value).__module__.startswith("poscount."):
        return _encode_ours(value, place, arrays)
    if isinstance(value, BaseEstimator):
        arrays[place] = np.frombuffer(_skops().dumps(value), dtype=np.uint8)
        return {"skops": place}
    raise TypeError(f"A {type(value).__name__} ({place}) cannot be saved in a model file.")


def _encode_ours(
    estimator: BaseEstimator, place: str, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    # Attributes with a leading underscore are rebuilt on load.
    state = {name: value for name, value in vars(estimator).items() if name[0] != "_"}
    # So is the unfitted scorer, from the fitted one.
    if "scorer_" in state:
        state.pop("scorer", None)
    # A calibration that the caller gave is in the file once, as a part of the model.
    if isinstance(state.get("calibration"), Calibration):
        del state["calibration"]
    if "seed_" in state:
        # A generator is in another state now; the seed reproduces the model.
        state["random_state"] = state["seed_"]
    encoded = {name: _encode(state[name], f"{place}.{name}", arrays) for name in sorted(state)}
    return {"class": type(estimator).__name__, "state": encoded}


def _decode(
    value: Any, arrays: dict[str, np.ndarray], find_class: FindClass, trusted: Sequence[str]
) -> Any:
    if not isinstance(value, dict):
        return value
    if "class" in value:
        state = {
            name: _decode(item, arrays, find_class, trusted)
            for name, item in value["state"].items()
        }
        return _decode_ours(find_class(value["class"]), state)
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "skops":
        return _load_foreign(arrays[content].tobytes(), trusted)
    items = [_decode(item, arrays, find_class, trusted) for item in content]
    if kind == "tuple":
        return tuple(items)
    if kind == "list":
        return items
    if kind == "ndarray":
        return np.array(items, dtype=object)
    raise ValueError(f"it holds an unknown kind of value, {kind!r}.")


def _decode_ours(kind: type[BaseEstimator], state: dict[str, Any]) -> BaseEstimator:
    estimator = kind()
    parameters = estimator.get_params(deep=False)
    if "scorer_" in state and "scorer" in parameters:
        state["scorer"] = clone(state["scorer_"])
    if "calibration" in parameters and "calibration" not in state:
        state["calibration"] = state["calibration_"]
    for name, value in state.items():
        # Besides parameters, only learned attributes can be set, which end in an underscore.
        if name not in parameters and not (name.endswith("_") and not name.startswith("_")):
            raise ValueError(f"it sets {name!r}, which is not an attribute of {kind.__name__}.")
        setattr(estimator, name, value)
    if isinstance(estimator, Calibration):
        estimator.check()
    missing = [name for name in getattr(kind, "NEEDED", ()) if name not in state]
    if missing:
        raise ValueError(
            f"an earlier version of poscount wrote it, and {kind.__name__} now looks at more of a "
            "sample: fit the model again."
        )
    if hasattr(estimator, "complete"):
        estimator.complete()
    return estimator


def _load_foreign(content: bytes, trusted: Sequence[str]) -> BaseEstimator:
    skops = _skops()
    # Our own scorer inside a pipeline of another library is as safe as by itself.
    known = [*trusted, "poscount.scorers.mahalanobis.Mahalanobis"]
    unknown = set(skops.get_untrusted_types(data=content)) - set(known)
    if unknown:
        raise FileError(
            f"its scorer uses types that are not known to be safe ({', '.join(sorted(unknown))}); "
            "allow them only if you trust the author of the file.",
            option="trusted",
            value=sorted({*trusted, *unknown}),
        )
    return skops.loads(content, trusted=known)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "A model file with a scorer from another library needs skops: "
            'pip install "poscount[skops]".'
        ) from error
    return skops.io
