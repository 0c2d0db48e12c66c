"""Files of calibrations, and those that poscount comes with."""

from __future__ import annotations

import functools
import os
from importlib import resources

from poscount.calibration.calibration import Calibration
from poscount.errors import FileError
from poscount.storage import container
from poscount.storage.schema import check_estimator

_ARRAYS = (
    *("feature", "threshold", "missing_right", "leaf"),
    *("levels", "below", "above", "error", "least", "most"),
)


def write_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration to a file."""
    arrays = {name: getattr(calibration, f"{name}_") for name in _ARRAYS}
    if calibration.blend_.size:
        arrays["blend"] = calibration.blend_
    meta = {
        "method": calibration.method_,
        "columns": calibration.columns_,
        "provenance": calibration.provenance_,
    }
    container.write(path, "calibration", meta, arrays)


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration, and check everything in it."""
    meta, arrays = container.read(path, "calibration")
    calibration = Calibration()
    try:
        calibration.method_, calibration.columns_ = meta["method"], meta["columns"]
        calibration.provenance_ = meta["provenance"]
        for name in _ARRAYS:
            setattr(calibration, f"{name}_", arrays[name])
        if "blend" in arrays:
            calibration.blend_ = arrays["blend"]
        if set(arrays) - {*_ARRAYS, "blend"}:
            raise ValueError("it holds arrays that do not belong there.")
        check_estimator(calibration)
    except (KeyError, ValueError) as error:
        raise FileError(
            f"it does not hold a usable calibration: {error}",
            file=str(path),
        ) from error
    return calibration


@functools.cache
def shipped(method: str) -> Calibration:
    """The calibration that poscount comes with, by its method, such as "RCQ" or "RCQ-kinds"."""
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
    if not isinstance(choice, Calibration):
        choice = read_calibration(choice)
    if choice.method_ != method:
        raise ValueError(f"The calibration was made for {choice.method_}, not for {method}.")
    return choice


def chosen_calibrations(choice: str | Calibration, *methods: str) -> list[Calibration | None]:
    """The calibrations of several methods that one parameter names.

    It may name that of any; the others are then those that poscount comes with.
    """
    if choice in ("null", "experience"):
        return [chosen_calibration(choice, method) for method in methods]
    if not isinstance(choice, Calibration):
        choice = read_calibration(choice)
    if choice.method_ not in methods:
        return [chosen_calibration(choice, methods[0])]  # says what is wrong
    return [choice if choice.method_ == method else shipped(method) for method in methods]
