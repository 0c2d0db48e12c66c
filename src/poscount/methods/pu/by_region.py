"""Searching for a region without negatives: what TIcE, ExTIcE and RanFocE share.

Numbers and categories become one matrix, and regions found in it are described by their features.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np

from poscount.data.categories import Categorical
from poscount.data.rows import Rows
from poscount.methods.pu.region_search import Popped, Region, Tree, arrange, two_passes
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.results.estimates import Estimates, single_estimate
from poscount.results.prevalence import prevalence_from_label_frequency
from poscount.storage.schema import Field, ListOf, OrNone, Text, require

PRESENT, MISSING = "there", "missing"


class RegionQuantifier(TransductiveQuantifier):
    """A transductive quantifier that splits on numbers and on categories.

    Words and booleans are categories, and a region can be one of them. A category of the sample
    that the positives do not have counts as one more category, and so does a missing value. Where
    some positives lack a number, regions can be split by that, too.

    Attributes
    ----------
    categories_ : list
        For each feature its sorted categories as text, or None for numbers; then two values for
        each number that some positives lack.
    """

    depends_on_squares = False

    categories_: list[list[str] | None]

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "categories_": ListOf(OrNone(ListOf(Text(), distinct=True)))
    }

    def _check_positives(self) -> None:
        columns = self.columns_
        expected: list[list[str] | None] = [None for _ in columns.kinds_]
        for j in columns.categorical.tolist():
            words = sorted([*columns.categories_[j], *columns.rare_[j]])
            expected[j] = words + [MISSING] * bool(columns.missing_[j])
        expected += [[PRESENT, MISSING] for _ in columns.gapped]
        require(self.categories_ == expected, "its categories are not those of its columns.")
        fits = self.positives_.shape[1] == len(expected) and np.isfinite(self.positives_).all()
        require(fits, "its positives are of other columns.")
        for known, codes in zip(expected, self.positives_.T, strict=True):
            if known is not None:
                require(np.isin(codes, np.arange(len(known))).all(), "a positive has no category.")

    def _learn(self, rows: Rows) -> None:
        columns = self.columns_
        self.categories_ = [
            sorted(column.distinct) + [MISSING] * bool(columns.missing_[j])
            if isinstance(column, Categorical)
            else None
            for j, column in enumerate(rows.columns_as(columns.kinds_, slice(0, len(rows))))
        ]
        # Whether a number is missing is one more category.
        self.categories_ += [[PRESENT, MISSING] for _ in columns.gapped]
        super()._learn(rows)

    @property
    def split_names(self) -> list[str]:
        """Names of what is split: the features, and gaps of numbers."""
        return [*self.feature_names, *(self.feature_names[j] for j in self.columns_.gapped)]

    def _matrix(self, rows: Rows) -> np.ndarray:
        columns = self.columns_
        if columns.all_numbers and not columns.missing_.any():
            return super()._matrix(rows)
        codes = rows.to_array()
        matrix = np.empty((len(rows), len(self.categories_)))
        matrix[:, columns.numbers] = columns.design(codes)[:, : len(columns.numbers)]
        for j, column in enumerate(rows.columns_as(columns.kinds_, slice(0, len(rows)))):
            if isinstance(column, Categorical):
                matrix[:, j] = _codes(column, cast(list[str], self.categories_[j]))
        matrix[:, len(columns.kinds_) :] = np.isnan(codes[:, columns.gapped])
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
    ) -> Estimates:
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
        return single_estimate(value, details)

    def _region(self, nodes: Popped | Tree, i: int) -> Region:
        """Describe a region of a search, or a node of a tree, by its features."""
        names = self.split_names
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
                # Words that no positive has come after those that some have.
                category = known[int(high)] if int(high) < len(known) else "another"
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


def _codes(column: Categorical, known: list[str]) -> np.ndarray:
    """Place of each word among the known ones; any other word counts as one more."""
    places = {word: float(i) for i, word in enumerate(known)}
    new = sorted(word for word in column.distinct if word not in places)
    places |= {word: float(len(known) + i) for i, word in enumerate(new)}
    missing = places.get(MISSING, float(len(known) + len(new)))
    return np.array([*(places[word] for word in column.distinct), missing])[column.places]
