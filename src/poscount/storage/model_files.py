"""Model files: what a fitted estimator has learned, and nothing that could run on loading.

The description of a file is a tree of parameters and learned attributes. Its arrays are packed into
one member for each dtype, in the order in which the description names them, so that none can
overlap or be left over. On loading, every value is checked against what its class declares
(`poscount.storage.schema`), and so it is on saving: what cannot be read is not written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from poscount.errors import FileError, InputError
from poscount.storage import container
from poscount.storage.foreign_scorers import content_of, dump_foreign, load_foreign
from poscount.storage.schema import Sizes, Text, check_estimator, fields_of, is_fitted

FindClass = Callable[[str], type[BaseEstimator]]
FindShipped = Callable[[str], BaseEstimator]

# Estimators within estimators, as in a minimum of minimums.
MOST_NESTED = 8
# Parameters by which a file could make whoever loads it compute for hours, or fill the memory.
LARGEST = {"n_jobs": 1024, "n_resamples": 10_000, "n_trees": 10_000, "max_rows": 20_000}


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; skops writes a scorer from another library."""
    writer = _Writer()
    description = writer.encode(model, "model")
    container.write(path, "model", {"model": description}, writer.arrays)


def content_hash(estimator: BaseEstimator) -> str:
    """SHA-256 of everything that decides the answers of an estimator of ours."""
    writer = _Hasher()
    description = writer.whole(estimator, "model")
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name, array in sorted(writer.arrays.items()):
        digest.update(f"{name} {len(array)}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def mark_shipped(estimator: BaseEstimator, name: str) -> None:
    """Note that poscount comes with this: models name it, with its hash, and hold no copy."""
    estimator._shipped = name, content_hash(estimator)


def load(
    path: str | os.PathLike[str],
    find_class: FindClass,
    find_shipped: FindShipped,
    trusted: Sequence[str] = (),
) -> BaseEstimator:
    """Read a fitted model.

    Parameters
    ----------
    path : path
    find_class : callable
        Returns the class of one of our estimators by its name; raises ValueError for other names.
    find_shipped : callable
        Returns what `mark_shipped` has marked, by its name; raises ValueError for other names.
    trusted : sequence of str
        Types that a scorer from another library may use besides those that skops knows to be safe.
    """
    meta, arrays = container.read(path, "model")
    try:
        if meta.keys() != {"model"}:
            raise ValueError("its description does not belong to a model.")
        reader = _Reader(arrays, find_class, find_shipped, trusted)
        model = reader.decode(meta["model"])
        reader.finish()
        if not hasattr(model, "n_labeled_"):
            raise ValueError("there is no fitted quantifier in it.")
        return model
    except ImportError:
        raise  # skops is not installed
    except FileError as error:
        raise error.at(file=str(path)) from error
    except Exception as error:  # a malicious file may cause any
        missing = "it lacks " if isinstance(error, KeyError) else ""
        reason = missing + (str(error) or type(error).__name__)
        raise FileError(f"it does not hold a usable model: {reason}", file=str(path)) from error


class _Writer:
    """Turns a model into a description and arrays."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Members of the file: one for each dtype."""
        return {name: np.concatenate(packed) for name, packed in self._parts.items()}

    def encode(self, value: Any, place: str) -> Any:
        """Description of a value; `place` is where it is."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"array": self.pack(value)}
        if isinstance(value, np.ndarray | tuple | list):
            items = [self.encode(item, f"{place}.{i}") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {type(value).__name__: items}
        if isinstance(value, BaseEstimator) and type(value).__module__.startswith("poscount."):
            named = vars(value).get("_shipped")
            # A copy may have been changed.
            if named is not None and content_hash(value) == named[1]:
                return {"shipped": list(named)}
            return self.whole(value, place)
        if isinstance(value, BaseEstimator):
            return {"skops": self.foreign(value)}
        raise TypeError(f"A {type(value).__name__} ({place}) cannot be saved in a model file.")

    def pack(self, array: np.ndarray) -> list[Any]:
        """Put an array among those of its dtype."""
        self._parts.setdefault(array.dtype.name, []).append(array.ravel())
        return [array.dtype.name, list(array.shape)]

    def whole(self, estimator: BaseEstimator, place: str) -> dict[str, Any]:
        """Description of one of our estimators."""
        state = self.state(estimator)
        # Sorted as the description will be, because arrays are read in its order.
        encoded = {name: self.encode(state[name], f"{place}.{name}") for name in sorted(state)}
        return {"class": type(estimator).__name__, "state": encoded}

    def foreign(self, scorer: BaseEstimator) -> Any:
        """Description of a scorer of another library."""
        return self.pack(dump_foreign(scorer))

    def state(self, estimator: BaseEstimator) -> dict[str, Any]:
        """What is written of one of our estimators."""
        # Attributes with a leading underscore are rebuilt on load.
        state = {name: value for name, value in vars(estimator).items() if name[0] != "_"}
        if "seed_" in state and "random_state" in state:
            # A generator is in another state now; the seed reproduces the model.
            state["random_state"] = state["seed_"]
        try:
            _check(estimator, state)
        except ValueError as error:
            raise InputError(f"This model cannot be saved: {error}") from error
        # The unfitted scorer is rebuilt, too, from the fitted one.
        if "scorer_" in state:
            state.pop("scorer", None)
        # A calibration that the caller gave is in the file once, as a part of the model.
        if isinstance(state.get("calibration"), BaseEstimator):
            del state["calibration"]
        return state


class _Hasher(_Writer):
    """Describes what decides the answers of a model."""

    # The hash itself; what decides no answer, such as the order in which targets were given; and
    # what `seed_`, `scorer_` and `calibration_` say.
    _LEFT_OUT: ClassVar = (
        *("hash_", "n_jobs", "targets_"),
        *("random_state", "scorer", "calibration"),
    )

    def state(self, estimator: BaseEstimator) -> dict[str, Any]:
        """What decides answers."""
        return {
            name: value
            for name, value in vars(estimator).items()
            if name[0] != "_" and name not in self._LEFT_OUT
        }

    def foreign(self, scorer: BaseEstimator) -> str:
        """Hash of a scorer of another library."""
        return content_of(scorer)


def refuse_another_version(hash_then: Any, hash_now: str) -> None:
    """Refuse a model unless what poscount comes with is what it came with when it was fitted."""
    if hash_then != hash_now:
        raise FileError(
            "this model uses what another version of poscount had learned, and would answer "
            "differently now: load it with that version, or fit it again with this one."
        )


def _check(estimator: BaseEstimator, state: dict[str, Any]) -> None:
    """Refuse parameters and learned attributes that no user could have chosen or learned."""
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, str):
            Text().check(value, Sizes())
        if name in LARGEST and value is not None and abs(value) > LARGEST[name]:
            raise ValueError(f"{name} is larger than {LARGEST[name]}, the most in a model file.")
    if "seed_" in state and state.get("random_state", state["seed_"]) != state["seed_"]:
        raise ValueError("random_state and seed_ differ.")
    if is_fitted(estimator):
        check_estimator(estimator)


class _Reader:
    """Turns the description of a file and its arrays into a model.

    Parameters
    ----------
    arrays : dict of ndarray
        Members of the file.
    find_class, find_shipped, trusted
        As in `load`.
    """

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        find_class: FindClass,
        find_shipped: FindShipped,
        trusted: Sequence[str],
    ) -> None:
        self.arrays, self.trusted = arrays, trusted
        self.find_class, self.find_shipped = find_class, find_shipped
        self.used = dict.fromkeys(arrays, 0)
        self.depth = 0
        for name, array in arrays.items():
            if array.ndim != 1 or array.dtype.name != name:
                raise ValueError(f"its member {name!r} does not belong there.")

    def decode(self, value: Any) -> Any:
        """A value from its description."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "class" in value:
            return self._estimator(value)
        ((kind, content),) = value.items()
        if kind == "array":
            return self._array(content)
        if kind == "shipped":
            return self._shipped(content)
        if kind == "skops":
            return load_foreign(self._array(content).tobytes(), self.trusted)
        if kind not in ("tuple", "ndarray"):
            raise ValueError(f"it holds an unknown kind of value, {kind!r}.")
        items = [self.decode(item) for item in content]
        if kind == "ndarray":
            found = np.empty(len(items), dtype=object)
            found[:] = items
            return found
        return tuple(items)

    def finish(self) -> None:
        """Refuse arrays that belong to nothing."""
        for name, array in self.arrays.items():
            if self.used[name] != len(array):
                raise ValueError(f"its member {name!r} holds more than the model needs.")

    def _shipped(self, content: Any) -> BaseEstimator:
        name, digest = content
        found = self.find_shipped(name)
        refuse_another_version(digest, found._shipped[1])
        return found

    def _array(self, content: Any) -> np.ndarray:
        name, shape = content
        start, size = self.used[name], 1
        for length in shape:
            if type(length) is not int or length < 0:
                raise ValueError("the shape of an array is not one.")
            size *= length
        packed = self.arrays[name][start : start + size]
        if len(packed) < size:
            raise ValueError("an array is longer than what the file holds.")
        self.used[name] += size
        return packed.reshape(shape)

    def _estimator(self, value: dict[str, Any]) -> BaseEstimator:
        if value.keys() != {"class", "state"}:
            raise ValueError("the description of an estimator is not one.")
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise ValueError("its models are nested too deeply.")
        kind = self.find_class(value["class"])
        self._refuse_unknown(kind, value["state"])
        state = {name: self.decode(item) for name, item in value["state"].items()}
        self.depth -= 1
        return self._fill(kind(), state)

    def _refuse_unknown(self, kind: type[BaseEstimator], state: dict[str, Any]) -> None:
        # Before anything is decoded: only parameters and declared attributes can be set.
        known = {*kind().get_params(deep=False), *fields_of(kind)}
        for name in state:
            if name not in known:
                raise ValueError(f"it sets {name!r}, which is not an attribute of {kind.__name__}.")

    def _fill(self, estimator: BaseEstimator, state: dict[str, Any]) -> BaseEstimator:
        kind = type(estimator)
        parameters = estimator.get_params(deep=False)
        if "scorer_" in state and "scorer" in parameters:
            state["scorer"] = clone(state["scorer_"])
        if "calibration" in parameters and "calibration" not in state:
            state["calibration"] = state["calibration_"]
        for name, value in state.items():
            setattr(estimator, name, value)
        lacking = [name for name in parameters if name not in state]
        if lacking:
            raise ValueError(f"{lacking[0]} of {kind.__name__} is missing.")
        _check(estimator, state)
        return estimator
