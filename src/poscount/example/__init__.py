"""The embedded example: nine nights of a simulated mosquito trap.

The files in `data` are never edited by hand: `simulate` writes them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import narwhals as nw

__all__ = ["Example", "example_path", "load_example"]

Frame = Literal["pandas", "polars", "pyarrow"]

_DATA = Path(__file__).with_name("data")
_FILES = ("positives.csv", "trap.csv.gz", "truth.csv")
_FRAMES: tuple[Frame, ...] = ("pandas", "polars", "pyarrow")


class Example(NamedTuple):
    """The example data, as three frames.

    Attributes
    ----------
    positives : frame
        400 recordings known to be of the target, females of *Aedes aegypti*: eight features.
    trap : frame
        What the trap recorded, whatever flew by: the ``night`` and the same features.
    truth : frame
        For each ``night``, how many of its ``rows`` are ``positives``. Only a simulation knows
        this.
    """

    positives: Any
    trap: Any
    truth: Any


def example_path(name: str) -> Path:
    """Path of a file of the example.

    Parameters
    ----------
    name : {"positives.csv", "trap.csv.gz", "truth.csv"}

    Examples
    --------
    >>> example_path("positives.csv").name
    'positives.csv'
    """
    if name not in _FILES:
        raise ValueError(f"The example has no file {name!r}, only {', '.join(_FILES)}.")
    return _DATA / name


def load_example(frame: Frame | None = None) -> Example:
    """Load nine nights of a mosquito trap, and recordings of the mosquito it is meant for.

    A laser sensor records the wing beat of every insect that enters the trap: its frequency, the
    width of that peak, the energy of three harmonics relative to it, the entropy of the spectrum,
    how long the crossing took and how strong the signal was. The question of each night is how many
    of the insects were females of *Aedes aegypti*. Only recordings from a colony of these are
    labelled, because nobody can list, let alone breed, everything else that flies into a trap. The
    data are simulated (see `poscount.example.simulate`).

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow"}, optional
        The kind of frame to return; by default the first of these that is installed.

    Returns
    -------
    Example
        Three frames: positives, trap, truth. Nights are text such as "2026-01-12".

    Examples
    --------
    >>> positives, trap, truth = load_example("pandas")
    >>> positives.shape, trap.shape
    ((400, 8), (8070, 9))
    >>> truth.head(3)
            night  positives  rows
    0  2026-01-12          0   620
    1  2026-01-13         16   910
    2  2026-01-14         25   480
    """
    backend = _installed_frame() if frame is None else frame
    if backend not in _FRAMES:
        raise ValueError(f"frame must be one of {', '.join(_FRAMES)}, not {backend!r}.")
    return Example(*(_load(name, backend) for name in _FILES))


def _installed_frame() -> Frame:
    for name in _FRAMES:
        if find_spec(name) is not None:
            return name
    raise ImportError(
        'The example needs pyarrow, pandas or polars: pip install "poscount[cli]" brings pyarrow.'
    )


def _load(name: str, backend: Frame) -> Any:
    frame = nw.read_csv(str(example_path(name)), backend=backend)
    if "night" in frame.columns:
        # pyarrow alone would make it a date.
        frame = frame.with_columns(nw.col("night").cast(nw.String))
    return frame.to_native()
