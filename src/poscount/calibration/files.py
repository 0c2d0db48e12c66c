"""Files of calibrations, and those that poscount comes with."""

from __future__ import annotations

import functools
import os
from importlib import resources

import numpy as np

from poscount import container
from poscount.calibration.calibration import QUANTILES, Calibration, n_features
from poscount.calibration.trees import N_LEAVES, N_SPLITS
from poscount.errors import FileError, InputError

_TREES = ("feature", "threshold", "missing_right", "leaf")
_KINDS = {
    "feature": np.uint8,
    "threshold": np.float32,
    "missing_right": np.bool_,
    "leaf": np.float32,
}
_OF_LEVELS = ("levels", "below", "above")
_OF_COLUMNS = ("least", "most")


def write_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration to a file."""
    arrays = {
        name: getattr(calibration, f"{name}_")
        for name in (*_TREES, *_OF_LEVELS, *_OF_COLUMNS, "error")
    }
    meta = {
        "method": calibration.method_,
        "columns": calibration.columns_,
        "provenance": calibration.provenance_,
    }
    container.write(path, "calibration", meta, arrays)


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration, and check everything in it."""
    meta, arrays = container.read(path, "calibration")
    try:
        return _checked(meta, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"it does not hold a usable calibration: {error}", file=str(path)
        ) from error


def _checked(meta: dict, arrays: dict[str, np.ndarray]) -> Calibration:
    calibration = Calibration()
    calibration.method_ = str(meta["method"])
    calibration.columns_ = [str(name) for name in meta["columns"]]
    calibration.provenance_ = str(meta["provenance"])
    for name, kind in _KINDS.items():
        n_nodes = N_LEAVES if name == "leaf" else N_SPLITS
        shape = (len(QUANTILES), len(arrays["feature"][0]), n_nodes)
        if arrays[name].dtype != kind or arrays[name].shape != shape:
            raise ValueError(f"{name} has the wrong shape or type.")
    for name in ("threshold", *_OF_COLUMNS):
        if np.isnan(arrays[name]).any():
            raise ValueError(f"{name} holds NaN.")
    for name in ("leaf", *_OF_LEVELS, "error"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} holds a number that is not finite.")
    levels = arrays["levels"]
    if any(arrays[name].shape != levels.shape or levels.ndim != 1 for name in _OF_LEVELS):
        raise ValueError("factors and levels differ in number.")
    if not (np.diff(levels) > 0).all() or not 0 < levels[0] <= levels[-1] < 1:
        raise ValueError("levels do not increase from above 0 to below 1.")
    if any((np.diff(arrays[name], prepend=0.0) < 0).any() for name in ("below", "above")):
        raise ValueError("a higher level has a narrower interval.")
    if any(arrays[name].shape != (len(calibration.columns_),) for name in _OF_COLUMNS):
        raise ValueError("ranges and columns differ in number.")
    if arrays["error"].shape != (2,) or (arrays["error"] < 0).any():
        raise ValueError("the expected error is not two positive factors.")
    if arrays["feature"].max() >= n_features(calibration.columns_):
        raise ValueError("a tree looks at a column that there is not.")
    for name, array in arrays.items():
        if name in (*_TREES, *_OF_LEVELS, *_OF_COLUMNS, "error"):
            setattr(calibration, f"{name}_", array)
    return calibration


@functools.cache
def shipped(method: str) -> Calibration:
    """The calibration that poscount comes with, for "RCQ" or "TRCQ"."""
    with resources.as_file(
        resources.files("poscount.calibration") / f"{method.lower()}.npz"
    ) as path:
        return read_calibration(path)


def chosen_calibration(choice: str | Calibration, method: str) -> Calibration | None:
    """The calibration that a parameter names; None for the null calibration."""
    if choice == "null":
        return None
    if choice == "experience":
        return shipped(method)
    if choice.method_ != method:
        raise InputError(
            f"it was made for {choice.method_}, not for {method}.", option="calibration"
        )
    return choice
