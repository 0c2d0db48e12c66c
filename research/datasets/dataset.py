"""A data set in memory, reading one from a file, and the checksum of its values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from poscount.errors import InputError
from poscount.files.features import chosen_columns
from poscount.files.reading import read_batches, read_table

LABEL = "class"


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows with classes, one of which is the positive one.

    Attributes
    ----------
    key, title : str
        Its short name, and a description.
    features : ndarray of float64
    labels : ndarray of str
        The class of each row.
    positive : str
        The positive class; all others are sub-classes of the negatives.
    feature_names : tuple of str
    sha256 : str
        Checksum of the values in the file or from the generator, whichever classes are used.
    """

    key: str
    title: str
    features: np.ndarray
    labels: np.ndarray
    positive: str
    feature_names: tuple[str, ...]
    sha256: str

    @cached_property
    def is_positive(self) -> np.ndarray:
        """Whether each row is positive."""
        return self.labels == self.positive

    @cached_property
    def negatives(self) -> tuple[str, ...]:
        """Names of the classes of the negatives, sorted."""
        return tuple(sorted(set(self.labels[~self.is_positive].tolist())))

    def __repr__(self) -> str:
        rows, columns = self.features.shape
        return (
            f"DataSet({self.key}: {rows} rows, {columns} features, {int(self.is_positive.sum())} "
            f"of class {self.positive})"
        )


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a file: features with names, and labels, before a positive class is chosen."""

    feature_names: tuple[str, ...]
    features: np.ndarray
    labels: np.ndarray

    @cached_property
    def sha256(self) -> str:
        """Checksum of the values."""
        return checksum(self.feature_names, self.features, self.labels)

    def data_set(
        self, key: str, title: str, positive: str, negatives: Sequence[str], source: str
    ) -> DataSet:
        """Choose the classes; rows of classes that are not used are left out."""
        classes = sorted(set(self.labels.tolist()))
        shown = ", ".join(classes[:30]) + (", ..." if len(classes) > 30 else "")
        for name in (positive, *negatives):
            if name not in classes:
                raise InputError(
                    f"no row has the class {name!r}; the classes are {shown}.", file=source
                )
        if positive in negatives:
            raise InputError(
                f"the class {positive!r} cannot be both positive and negative; remove it from the "
                "negatives.",
                file=source,
            )
        if len(classes) < 2:
            raise InputError(
                f"all rows have the class {positive!r}: at least one negative is needed to draw "
                "samples with a known prevalence.",
                file=source,
            )
        used = np.isin(self.labels, [positive, *(negatives or classes)])
        return DataSet(
            key=key,
            title=title,
            features=self.features[used],
            labels=self.labels[used],
            positive=positive,
            feature_names=self.feature_names,
            sha256=self.sha256,
        )


def checksum(feature_names: Sequence[str], features: np.ndarray, labels: np.ndarray) -> str:
    """SHA-256 of names, values and labels, in the order of the rows.

    It depends on the values and not on the bytes of the file, so that neither the header of a gzip
    file nor the way in which a number is written (``0``, ``0.0``) matters.

    Examples
    --------
    >>> once = checksum(["a"], np.array([[0.0], [1.0]]), np.array(["x", "y"]))
    >>> once == checksum(["a"], np.array([[-0.0], [1]]), np.array(["x", "y"]))
    True
    >>> once == checksum(["a"], np.array([[0.0], [1.5]]), np.array(["x", "y"]))
    False
    """
    digest = hashlib.sha256()
    for texts in (feature_names, labels.tolist()):
        # Lengths first, so that no two lists of texts give the same bytes.
        for text in (str(len(texts)), *texts):
            encoded = text.encode()
            digest.update(b"%d:%b" % (len(encoded), encoded))
    # Adding zero turns -0.0 into 0.0, which is the same number.
    digest.update((np.ascontiguousarray(features, dtype="<f8") + 0.0).data)
    return digest.hexdigest()


def read_content(path: str | Path, dropped: Sequence[str] = ()) -> Content:
    """Read a file whose column "class" has the classes; all others are features.

    Parameters
    ----------
    path : str or Path
        CSV (also gzipped), Parquet or Arrow.
    dropped : sequence of str
        Columns that are not features.

    Raises
    ------
    InputError
        A column is missing, or a value is missing or not a finite number.
    """
    source = str(path)
    columns = next(read_batches(path)).schema.names
    chosen_columns(columns, None, [LABEL, *dropped], source)
    names = [name for name in columns if name not in {LABEL, *dropped}]
    if not names:
        raise InputError("the file has no features besides the class.", file=source)
    table = read_table(path, columns=[*names, LABEL], numeric=names)
    features = np.column_stack([table[name].cast("float64").to_numpy() for name in names])
    if not np.isfinite(features).all():
        row, j = map(int, np.argwhere(~np.isfinite(features))[0])
        raise InputError(
            "missing, NaN or infinite: every value must be a finite number; remove the row, impute "
            "the value, or remove the column.",
            file=source,
            column=names[j],
            row=row,
        )
    labels = table[LABEL].cast("string")
    if labels.null_count:
        row = labels.is_null().to_pylist().index(True)
        raise InputError(
            "the class is missing; fill it in or remove the row.",
            file=source,
            column=LABEL,
            row=row,
        )
    return Content(tuple(names), features, np.array(labels.to_pylist(), dtype=np.str_))
