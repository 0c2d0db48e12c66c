"""Searching for a region without negatives: what TIcE, ExTIcE and RanFocE share.

A region is an intersection of conditions low < value <= high on features; a category is the
condition code - 1/2 < value <= code + 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from poscount.data.categories import Categorical
from poscount.data.rows import Rows
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.storage.schema import require

PRESENT, MISSING = "there", "missing"


class Nodes(NamedTuple):
    """Regions that a search has visited, each within an earlier one; the first is everything.

    Each has the rows of its `parent` with low < value <= high in `feature`, or, if it is not
    `inside`, the other rows of its parent. `size` and `labeled` count its rows.
    """

    parent: np.ndarray
    feature: np.ndarray
    inside: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    labeled: np.ndarray


@dataclass(frozen=True)
class Region:
    """A part of the feature space that a search has found, and its rows.

    Attributes
    ----------
    size, labeled : int
        Number of rows in it, and of labelled ones among them.
    intervals : dict
        By feature, (low, high): values above low and up to high lie in the region.
    categories : dict
        By feature, the category, or "not a, not b" for all others.

    Examples
    --------
    >>> print(Region(120, 30, {"length": (1.5, math.inf), "width": (0.0, 2.0)}, {"sex": "f"}))
    1.5 < length and 0 < width <= 2 and sex = f (120 rows, 30 labelled)
    """

    size: int
    labeled: int
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = []
        for name, (low, high) in self.intervals.items():
            left = "" if low == -math.inf else f"{low:g} < "
            right = "" if high == math.inf else f" <= {high:g}"
            words.append(f"{left}{name}{right}")
        words += [f"{name} = {category}" for name, category in self.categories.items()]
        return f"{' and '.join(words) or 'everywhere'} ({self.size} rows, {self.labeled} labelled)"


class TreeQuantifier(TransductiveQuantifier):
    """A transductive quantifier that splits on numbers and on categories.

    Words and booleans are categories, and a region can be one of them. A category of the sample
    that the positives do not have counts as one more category, and so does a missing value. Where
    some positives lack a number, regions can be split by that, too.
    """

    depends_on_squares = False

    @property
    def categories_(self) -> list[list[str] | None]:
        """For each feature its sorted categories, or None for numbers.

        Then two values for each number that some positives lack.
        """
        columns = self.columns_
        known: list[list[str] | None] = [None for _ in columns.kinds_]
        for j in columns.categorical.tolist():
            words = sorted([*columns.categories_[j], *columns.rare_[j]])
            known[j] = words + [MISSING] * bool(columns.missing_[j])
        return [*known, *([PRESENT, MISSING] for _ in columns.gapped)]

    def _check_positives(self) -> None:
        categories = self.categories_
        fits = self.positives_.shape[1] == len(categories) and np.isfinite(self.positives_).all()
        require(fits, "its positives are of other columns.")
        for known, codes in zip(categories, self.positives_.T, strict=True):
            if known is not None:
                require(np.isin(codes, np.arange(len(known))).all(), "a positive has no category.")

    def _matrix(self, rows: Rows) -> np.ndarray:
        """Numbers, places of categories in `categories_`, and whether numbers are missing."""
        columns = self.columns_
        if columns.all_numbers and not columns.missing_.any():
            return super()._matrix(rows)
        codes, categories = rows.to_array(), self.categories_
        matrix = np.empty((len(rows), len(categories)))
        matrix[:, columns.numbers] = columns.design(codes)[:, : len(columns.numbers)]
        for j, column in enumerate(rows.columns_as(columns.kinds_, slice(0, len(rows)))):
            if isinstance(column, Categorical):
                matrix[:, j] = _codes(column, categories[j] or [])
        matrix[:, len(columns.kinds_) :] = np.isnan(codes[:, columns.gapped])
        return matrix

    def _n_codes(self, positives: np.ndarray, sample: np.ndarray) -> np.ndarray:
        """Number of categories of each column of the matrix, 0 for numbers."""
        text = np.array([known is not None for known in self.categories_])
        largest = np.maximum(positives.max(axis=0), sample.max(axis=0))
        return np.where(text, largest + 1, 0).astype(np.int64)

    def _region(self, nodes: Nodes, i: int) -> Region:
        """Describe a node by its features."""
        names = [*self.feature_names, *(self.feature_names[j] for j in self.columns_.gapped)]
        all_categories = self.categories_
        size, labeled = int(nodes.size[i]), int(nodes.labeled[i])
        intervals: dict[str, tuple[float, float]] = {}
        categories: dict[str, str] = {}
        path = []
        while nodes.parent[i] >= 0:
            path.append(i)
            i = int(nodes.parent[i])
        for i in reversed(path):
            feature, low, high = int(nodes.feature[i]), float(nodes.low[i]), float(nodes.high[i])
            name, known = names[feature], all_categories[feature]
            if known is not None:
                # Words that no positive has come after those that some have.
                category = known[int(high)] if int(high) < len(known) else "another"
                before = categories.get(name)
                if nodes.inside[i]:
                    categories[name] = category
                else:
                    categories[name] = f"{before}, not {category}" if before else f"not {category}"
                continue
            if not nodes.inside[i]:
                low, high = high, math.inf
            former = intervals.get(name, (-math.inf, math.inf))
            intervals[name] = (max(former[0], low), min(former[1], high))
        return Region(size, labeled, intervals, categories)


def as_nodes(found: list[tuple[int, int, bool, float, float, int, int]]) -> Nodes:
    """Regions given one by one, with the fields of `Nodes`."""
    kinds = (np.int64, np.int64, np.bool_, np.float64, np.float64, np.int64, np.int64)
    columns = zip(*found, strict=True) if found else [()] * len(kinds)
    return Nodes(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Whether low < value <= high."""
    below = values <= high
    return below if low == -math.inf else below & (low < values)


def _codes(column: Categorical, known: list[str]) -> np.ndarray:
    """Place of each word among the known ones; any other word counts as one more."""
    places = {word: float(i) for i, word in enumerate(known)}
    new = sorted(word for word in column.distinct if word not in places)
    places |= {word: float(len(known) + i) for i, word in enumerate(new)}
    missing = places.get(MISSING, float(len(known) + len(new)))
    return np.array([*(places[word] for word in column.distinct), missing])[column.places]
