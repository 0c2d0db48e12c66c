"""Files of calibrations, and those that poscount comes with."""

from __future__ import annotations

import copy
import functools
import os
from importlib import resources

from poscount.calibration.calibration import METHODS, Calibration
from poscount.errors import FileError
from poscount.storage import container, model_files
from poscount.storage.schema import check_estimator

_ARRAYS = ("feature", "threshold", "missing_right", "leaf", "least", "most")
_META = ("method", "columns", "temperature", "provenance")


def write_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration to a file."""
    arrays = {name: getattr(calibration, f"{name}_") for name in _ARRAYS}
    if calibration.blend_.size:
        arrays["blend"] = calibration.blend_
    meta = {name: getattr(calibration, f"{name}_") for name in _META}
    container.write(path, "calibration", meta, arrays)


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration, and check everything in it."""
    meta, arrays = container.read(path, "calibration")
    calibration = Calibration()
    try:
        for names, found in ((_META, meta), (_ARRAYS, arrays)):
            for name in names:
                setattr(calibration, f"{name}_", found[name])
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
    if method not in METHODS:
        raise ValueError(f"there is no shipped calibration {method!r}.")
    with resources.as_file(
        resources.files("poscount.calibration") / f"{method.lower()}.npz"
    ) as path:
        calibration = read_calibration(path)
    model_files.mark_shipped(calibration, method)
    return calibration


def chosen_calibrations(choice: str | Calibration, *methods: str) -> list[Calibration | None]:
    """The calibrations of some methods that one parameter names; None for the null calibration.

    A calibration of one's own may be that of any of the methods; the others are then those that
    poscount comes with.
    """
    if choice == "null":
        return [None for _ in methods]
    if choice == "experience":
        return [shipped(method) for method in methods]
    own = choice if isinstance(choice, Calibration) else read_calibration(choice)
    marked = vars(own).get("_shipped")
    if marked is not None and model_files.content_hash(own) != marked[1]:
        # A changed copy of one that poscount comes with.
        own = copy.copy(own)
        del own._shipped
    if own.method_ not in methods:
        raise ValueError(f"The calibration was made for {own.method_}, not for {methods[0]}.")
    return [own if own.method_ == method else shipped(method) for method in methods]
