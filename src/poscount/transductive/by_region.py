"""Searching for a region without negatives: what TIcE, ExTIcE and RanFocE share.

Numbers and categories become one matrix, and regions found in it are described by their features.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from poscount.errors import InputError
from poscount.prevalence import Estimate, prevalence_from_label_frequency
from poscount.transductive.region_search import Popped, Region, Tree, arrange, two_passes
from poscount.transductive.transductive_quantifier import TransductiveQuantifier
from poscount.validation import InputSupport, Rows

CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)


class RegionQuantifier(TransductiveQuantifier):
    """A transductive quantifier that splits on numbers and on categories.

    Text, booleans and frame columns of a categorical type are categories, and a region can be one
    of them. A category of the sample that the positives do not have counts as one more category.

    Attributes
    ----------
    categories_ : list
        For each feature its sorted categories as text, or None for numbers.
    """

    categories_: list[np.ndarray | None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _input_support(self) -> InputSupport:
        return InputSupport(text=True)

    def _learn(self, rows: Rows) -> None:
        self.categories_ = [None] * rows.data.shape[1]
        for j, column in _text_columns(rows):
            self.categories_[j] = np.unique(column)
        super()._learn(rows)

    def _matrix(self, rows: Rows) -> np.ndarray:
        text = dict(_text_columns(rows))
        if not text and all(known is None for known in self.categories_):
            return np.asarray(
                Rows(rows.data, rows.names, InputSupport()).whole(), np.float64, order="C"
            )
        matrix = np.empty((len(rows), len(self.categories_)))
        for j, known in enumerate(self.categories_):
            if (known is None) == (j in text):
                kinds = ("numbers", "categories") if known is None else ("categories", "numbers")
                raise InputError(
                    f"it held {kinds[0]} in the positives and holds {kinds[1]} here: convert one "
                    "of them.",
                    column=self.feature_names[j],
                )
            matrix[:, j] = _numbers(rows, j) if known is None else _codes(text[j], known)
        return matrix

    def _n_codes(self, positives: np.ndarray, sample: np.ndarray) -> np.ndarray:
        text = np.array([known is not None for known in self.categories_])
        largest = np.maximum(positives.max(axis=0), sample.max(axis=0))
        return np.where(text, largest + 1, 0).astype(np.int64)

    def _two_passes(
        self,
        positives: np.ndarray,
        sample: np.ndarray,
        generator: np.random.Generator,
        *,
        exhaustive: bool,
    ) -> Estimate:
        table = arrange(positives, sample, self._n_codes(positives, sample), generator)
        found = two_passes(table, exhaustive=exhaustive, generator=generator)
        regions = []
        for fold, (popped, best) in enumerate(zip(found.popped, found.best, strict=True)):
            if best >= 0:
                regions.append(self._region(popped, best))
            else:
                # No region was better than the whole estimation part.
                part = np.r_[: table.starts[fold], table.starts[fold + 1] : len(table.labeled)]
                regions.append(Region(len(part), int(table.labeled[part].sum())))
        details = {
            "label_frequency": found.label_frequency,
            "bounds": found.bounds,
            "regions": regions,
            "region": regions[int(np.argmax(found.bounds))],
        }
        c = found.label_frequency
        value = prevalence_from_label_frequency(c, len(positives), len(sample))
        return Estimate(value, details)

    def _region(self, nodes: Popped | Tree, i: int) -> Region:
        """Describe a region of a search, or a node of a tree, by its features."""
        names = self.feature_names
        size, labeled = int(nodes.size[i]), int(nodes.labeled[i])
        intervals: dict[str, tuple[float, float]] = {}
        categories: dict[str, str] = {}
        path = []
        while nodes.parent[i] >= 0:
            path.append(i)
            i = int(nodes.parent[i])
        for i in reversed(path):
            feature, low, high = int(nodes.feature[i]), float(nodes.low[i]), float(nodes.high[i])
            inside = not isinstance(nodes, Tree) or bool(nodes.inside[i])
            name, known = names[feature], self.categories_[feature]
            if known is not None:
                category = str(known[int(high)])
                before = categories.get(name)
                if inside:
                    categories[name] = category
                else:
                    categories[name] = f"{before}, not {category}" if before else f"not {category}"
                continue
            if not inside:
                low, high = high, math.inf
            former = intervals.get(name, (-math.inf, math.inf))
            intervals[name] = (max(former[0], low), min(former[1], high))
        return Region(size, labeled, intervals, categories)


def _text_columns(rows: Rows) -> Iterator[tuple[int, np.ndarray]]:
    """Columns that hold categories, as text; the others hold numbers."""
    for j in range(rows.data.shape[1]):
        if rows.frame:
            series = rows.data[rows.data.columns[j]]
            if series.dtype in CATEGORIES:
                yield j, _as_text(rows, j, series.to_list())
            elif series.dtype == nw.Object:
                yield from _if_text(rows, j, series.to_list())
            elif not series.dtype.is_numeric():
                raise InputError(
                    f"it holds {series.dtype}, neither numbers nor categories; convert it, or fit "
                    "without it.",
                    column=series.name,
                )
        elif rows.data.dtype.kind in "USb":
            yield j, _as_text(rows, j, rows.data[:, j].tolist())
        elif rows.data.dtype == object:
            yield from _if_text(rows, j, rows.data[:, j].tolist())


def _if_text(rows: Rows, j: int, values: list[Any]) -> Iterator[tuple[int, np.ndarray]]:
    if any(isinstance(value, str | bool) for value in values):
        yield j, _as_text(rows, j, values)
    else:
        for value in values:
            if value is not None and not isinstance(value, Real):
                raise TypeError(
                    "Every argument must be a string, a boolean or a real number, "
                    f"got a {type(value).__name__}."
                )


def _as_text(rows: Rows, j: int, values: list[Any]) -> np.ndarray:
    for i, value in enumerate(values):
        # pandas' NA equals nothing, not even itself, and is recognised by the name of its type.
        missing = value is None or type(value).__name__ == "NAType"
        missing = missing or (isinstance(value, Real) and value != value)
        if missing or not isinstance(value, str | bytes | Real):
            what = "a missing value (NaN)" if missing else f"a {type(value).__name__}"
            raise InputError(
                f"{what} is no category, and nothing is imputed silently; remove the row, or use a "
                "category for missing values.",
                column=rows.names[j] if rows.names is not None else str(j),
                row=i,
            )
    return np.array([str(value) for value in values])


def _numbers(rows: Rows, j: int) -> np.ndarray:
    name = None if rows.names is None else (rows.names[j],)
    column = rows.data.select(rows.data.columns[j]) if rows.frame else rows.data[:, [j]]
    return Rows(column, name, InputSupport()).whole()[:, 0]


def _codes(column: np.ndarray, known: np.ndarray) -> np.ndarray:
    place = np.minimum(np.searchsorted(known, column), len(known) - 1)
    new = known[place] != column
    codes = place.astype(np.float64)
    codes[new] = len(known) + np.unique(column[new], return_inverse=True)[1]
    return codes
