"""Load a data set by name, and register files of your own under a name for every later process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from poscount.datasets import catalog, overlaps, vowels_network
from poscount.datasets.dataset import DataSet, read_content, reread_content
from poscount.datasets.directory import data_directory, read_stored
from poscount.errors import InputError
from poscount.storage.writer import write_whole

_FILE = "registered.json"
_NAME = re.compile(r"[\w.-]+")


def load(name: str) -> DataSet:
    """Load a data set of the paper, a constructed one, or one that you have registered.

    Parameters
    ----------
    name : str
        A letter or file name of the catalog (`catalog.names`), a constructed overlap
        (`overlaps.NAMES`), or a registered name. With ``:positive=CLASS`` after it, that class is
        the positive one and all others are negatives.

    Returns
    -------
    DataSet
        Features, labels and which class is positive. Rows of classes that are not used are left
        out.

    Raises
    ------
    InputError
        The file is missing, damaged or not what the catalog says.

    Examples
    --------
    >>> data = load("overlap-half")
    >>> data
    DataSet(overlap-half: 4000 rows, 6 features, 2000 of class positive)
    >>> data.negatives
    ('overlapping', 'separate')
    >>> load("overlap-half:positive=separate").negatives
    ('overlapping', 'positive')
    """
    base, positive = _split(name)
    if base in overlaps.NAMES:
        content = overlaps.generate(base)
        title = overlaps.title(base)
        return content.data_set(name, title, positive or overlaps.POSITIVE, (), name)
    entry = catalog.find(base)
    if entry is not None:
        generated = entry.key == vowels_network.NAME
        content = vowels_network.generate() if generated else read_stored(entry, data_directory())
        negatives = entry.negatives if positive is None else ()
        chosen = positive or entry.positive
        key = entry.key if positive is None else f"{entry.key}:positive={positive}"
        return content.data_set(key, entry.title, chosen, negatives, entry.file)
    known = registered()
    if base in known:
        return _load_registered(base, known[base], positive)
    own = f"; registered: {', '.join(known)}" if known else ""
    raise ValueError(
        f"There is no data set {base!r}; there are {', '.join(catalog.names())}, "
        f"{', '.join(overlaps.NAMES)}{own}."
    )


def _split(name: str) -> tuple[str, str | None]:
    base, colon, option = name.partition(":")
    if not colon:
        return base, None
    keyword, equals, positive = option.partition("=")
    if keyword != "positive" or not equals or not positive:
        raise ValueError(f"{name!r}: after the colon only positive=CLASS is allowed.")
    return base, positive


@dataclass(frozen=True)
class Registered:
    """What is recorded about a registered data set; the data stay where they are."""

    path: str
    label: str
    positive: str
    negatives: tuple[str, ...]
    drop: tuple[str, ...]
    sha256: str


def register(
    name: str,
    path: str | os.PathLike[str],
    *,
    label: str,
    positive: str,
    negatives: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> DataSet:
    """Give a file of labelled rows a name, by which `load` finds it from now on.

    The file stays where it is; its path, its columns and the checksum of its values are kept in
    the data directory. All columns but the label and those to drop are features.

    Parameters
    ----------
    name : str
        Letters, digits, ``.``, ``_`` and ``-``. A name that is already registered is replaced; the
        names of the catalog cannot be used.
    path : str or path-like
        CSV (also gzipped), Parquet or Arrow.
    label : str
        The column with the classes.
    positive : str
        The positive class.
    negatives : sequence of str
        The classes to use as negatives; all but the positive one by default.
    drop : sequence of str
        Columns that are not features.

    Returns
    -------
    DataSet
        The same as from `load`.

    Raises
    ------
    InputError
        A column is missing, a class does not occur, or a feature is missing or not a number.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be the name of a data set: use letters, digits, '.', '_', '-'."
        )
    if catalog.find(name) or name in overlaps.NAMES:
        raise ValueError(f"{name!r} is the name of a data set of the catalog: choose another one.")
    for argument, value in (("negatives", negatives), ("drop", drop)):
        if isinstance(value, str):
            raise TypeError(f"{argument} must be a list of names, not the text {value!r}.")
    path = os.path.abspath(path)
    content = read_content(path, label, drop)
    result = content.data_set(name, os.path.basename(path), positive, negatives, path)
    new = Registered(path, label, positive, tuple(negatives), tuple(drop), content.sha256)
    _write({**registered(), name: new})
    return result


def unregister(name: str) -> None:
    """Forget a registered data set; its file is not touched.

    Parameters
    ----------
    name : str
        The name it was registered under.
    """
    known = registered()
    if name not in known:
        shown = ", ".join(known) or "none"
        raise ValueError(f"No data set is registered as {name!r}; registered are: {shown}.")
    del known[name]
    _write(known)


def registered() -> dict[str, Registered]:
    """All registered data sets by name."""
    path = data_directory() / _FILE
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {name: _entry(fields) for name, fields in known.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{path} is damaged ({error}): remove it and register your data sets again."
        ) from error


def _load_registered(name: str, entry: Registered, positive: str | None) -> DataSet:
    if not os.path.exists(entry.path):
        raise InputError(
            f"the file of the data set {name!r} is no longer there; register it again with its new "
            "place, or remove the name.",
            file=entry.path,
        )
    content = reread_content(entry.path, entry.label, entry.drop, entry.path)
    if content.sha256 != entry.sha256:
        raise InputError(
            f"the file has changed since it was registered as {name!r}; if that was intended, "
            "register it again (`poscount datasets add`).",
            file=entry.path,
        )
    negatives = entry.negatives if positive is None else ()
    title = os.path.basename(entry.path)
    return content.data_set(name, title, positive or entry.positive, negatives, entry.path)


def _entry(fields: Any) -> Registered:
    lists = {name: tuple(fields[name]) for name in ("negatives", "drop")}
    return Registered(**{**fields, **lists})


def _write(known: dict[str, Registered]) -> None:
    directory = data_directory()
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps({name: asdict(known[name]) for name in sorted(known)}, indent=1)
    try:
        write_whole(directory / _FILE, f"{text}\n".encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(directory)) from error
