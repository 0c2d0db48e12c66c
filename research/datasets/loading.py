"""Load a data set by its name."""

from __future__ import annotations

from pathlib import Path

from research.datasets import catalog, overlaps, vowels_network
from research.datasets.dataset import DataSet, read_content
from research.datasets.directory import data_directory, read_stored


def load(name: str) -> DataSet:
    """Load a data set of the paper, a constructed one, or a file of your own.

    Parameters
    ----------
    name : str
        A key or file name of the catalog (`catalog.CATALOG`), a constructed overlap
        (`overlaps.NAMES`), or the path of a file whose column "class" has the classes and whose
        other columns are features. With ``:positive=CLASS`` after it, which a file needs, that
        class is the positive one and all others are negatives.

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
        return content.data_set(
            name, overlaps.title(base), positive or overlaps.POSITIVE, (), source=name
        )
    entry = catalog.find(base)
    if entry is not None:
        generated = entry.key == vowels_network.NAME
        content = vowels_network.generate() if generated else read_stored(entry, data_directory())
        if positive is None:
            return content.data_set(
                entry.key, entry.title, entry.positive, entry.negatives, source=entry.file
            )
        key = f"{entry.key}:positive={positive}"
        return content.data_set(key, entry.title, positive, (), source=entry.file)
    if not Path(base).is_file():
        known = ", ".join([*catalog.CATALOG, *overlaps.NAMES])
        raise ValueError(f"{base!r} is neither a data set ({known}) nor a file.")
    if positive is None:
        raise ValueError(f"Say which class of {base} is positive: {base}:positive=CLASS.")
    return read_content(base).data_set(name, Path(base).name, positive, (), source=base)


def _split(name: str) -> tuple[str, str | None]:
    base, colon, positive = name.partition(":positive=")
    if (colon and not positive) or (not colon and ":" in base):
        raise ValueError(f"{name!r}: after the colon only positive=CLASS is allowed.")
    return base, positive or None
