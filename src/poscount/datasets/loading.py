"""Load a data set by name, wherever it comes from."""

from __future__ import annotations

from pathlib import Path

from poscount.datasets import catalog, overlaps
from poscount.datasets.catalog import Entry
from poscount.datasets.dataset import Content, DataSet, read_content
from poscount.datasets.directory import VARIABLE, data_directory
from poscount.datasets.receipt import read_receipt
from poscount.datasets.registered import load_registered, registered
from poscount.errors import InputError


def load(name: str) -> DataSet:
    """Load a data set of the paper, a constructed one, or one that the user has registered.

    Parameters
    ----------
    name : str
        A letter or file name of the catalog (`catalog.names`), a constructed overlap
        (`overlaps.NAMES`), or a registered name. With ``:positive=CLASS`` behind it another class
        is the positive one and all others are negatives.

    Returns
    -------
    DataSet
        Features, labels and which class is positive. Rows of classes that are not in use are left
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
        content = stored(entry, data_directory())
        negatives = entry.negatives if positive is None else ()
        chosen = positive or entry.positive
        key = entry.key if positive is None else f"{entry.key}:positive={positive}"
        return content.data_set(key, entry.title, chosen, negatives, entry.file)
    known = registered()
    if base in known:
        return load_registered(base, known[base], positive)
    own = f"; registered: {', '.join(known)}" if known else ""
    raise ValueError(
        f"There is no data set {base!r}; there are {', '.join(catalog.names())}, "
        f"{', '.join(overlaps.NAMES)}{own}."
    )


def stored(entry: Entry, directory: Path) -> Content:
    """Read the stored file of an entry, and check that it is the right one."""
    path = directory / f"{entry.file}.csv.gz"
    if not path.exists():
        how = (
            f"fetch it with `poscount datasets fetch {entry.key}`"
            if entry.address
            else f"put it there yourself ({entry.note} See {entry.page}.)"
        )
        raise InputError(
            f"the data set {entry.key} is not in this directory; {how}, or set {VARIABLE} to the "
            "directory that has it.",
            file=str(path),
        )
    content = read_content(path, "class", entry.dropped)
    check(entry, content, str(path))
    receipt = read_receipt(path)
    known = {entry.sha256, receipt.sha256 if receipt else None} - {None}
    if known and content.sha256 not in known:
        raise InputError(
            f"the checksum of the values is {content.sha256}, not that of the data set "
            f"{entry.key}; remove the file and fetch it again.",
            file=str(path),
        )
    return content


def check(entry: Entry, content: Content, source: str) -> None:
    """Check that a content has the size that the catalog says."""
    expected = (entry.rows, entry.n_features)
    if content.features.shape != expected:
        rows, columns = content.features.shape
        raise InputError(
            f"{rows} rows x {columns} features, but the data set {entry.key} has {expected[0]} x "
            f"{expected[1]}; remove the file and fetch it again.",
            file=source,
        )


def _split(name: str) -> tuple[str, str | None]:
    base, colon, option = name.partition(":")
    if not colon:
        return base, None
    keyword, equals, positive = option.partition("=")
    if keyword != "positive" or not equals or not positive:
        raise ValueError(f"{name!r}: behind the colon only positive=CLASS may stand.")
    return base, positive
