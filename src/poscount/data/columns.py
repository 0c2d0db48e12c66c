"""The columns of a table: numbers and categories, as the positives have them.

A table becomes a matrix of codes. A number is itself; a category is its place among those that the
positives have; what is missing is NaN. For a score, which needs numbers, the codes become a design
matrix. Both are learned from the positives alone and are part of the model.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator

from poscount.data.categories import Categorical
from poscount.data.constants import Constants
from poscount.data.imputation import Imputation, learn_imputation
from poscount.errors import join_names
from poscount.results import notebook
from poscount.storage.schema import Array, Field, ListOf, Part, Text, Whole, require

# Positives that have a category, for it to be told apart from the other rare ones.
FEWEST = 5
MOST_CATEGORIES = 30
# What becomes of a column in which the positives never vary.
NOT_COUNTED = "rows with another value are not counted as positives"


class Column(NamedTuple):
    """A column of the positives, and what a model makes of it.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "left out"}
        Dates, identifiers, running numbers and comments are left out, unless they were asked for by
        name; a date is a number of days then.
    missing : float
        Share of the positives without a value.
    categories : tuple of str
        Categories that are told apart, in alphabetical order.
    rare : tuple of str
        Categories that few positives have; together they are one more category.
    shared : str
        The value of every positive that has one, "" if they differ. Rows with another value are not
        counted as positives.
    mean : float or None
        Of the positives' numbers. From it and from the row's other numbers comes the number that
        stands for a missing one in the score (`poscount.data.imputation`). Regions use no such
        number: there, missing is a value of its own.
    """

    name: str
    kind: str
    missing: float = 0.0
    categories: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    shared: str = ""
    mean: float | None = None

    @property
    def use(self) -> str:
        """What a model does with it, in a few words."""
        if self.kind == "left out":
            return "not used"
        if self.shared and self.missing == 1:
            return f"missing in every positive: {NOT_COUNTED.replace('another', 'a')}"
        words = ["used as a number"]
        if self.kind == "category":
            n = len(self.categories)
            words = [f"used as {n} {'category' if n == 1 else 'categories'}"]
            words[0] += f" ({join_names(self.categories)})" if n else ""
            if self.rare:
                n = len(self.rare)
                words.append("1 rare one" if n == 1 else f"{n} rare ones counted as one")
        if self.missing:
            words.append(f"missing in {100 * self.missing:.3g} % of the positives")
        if self.shared:
            which = "every other positive" if self.missing else "every positive"
            return ", ".join([*words[1:], f"{which} has {self.shared}: {NOT_COUNTED}"])
        return ", ".join(words)

    def __str__(self) -> str:
        return f"{self.name}: {self.use}"


class Columns(BaseEstimator):
    """Kinds of the columns of a table, their categories, and what stands for missing values.

    Attributes
    ----------
    names_, kinds_ : list of str
        Name and kind ("number" or "category") of each column that is used.
    missing_ : ndarray of int
        Positives without a value in each.
    n_ : int
        Number of positives.
    incomplete_ : int
        Positives that lack any value.
    centres_, scales_, precision_ : ndarray
        What stands for a missing number in the score, as in `poscount.data.imputation.Imputation`.
    categories_, rare_ : list of list of str
        As in `Column`; empty for numbers.
    shares_ : list of ndarray
        Share of each category, and last of the rare ones, in the positives that have a value.
    left_out_ : list of str
        Columns that do not look like features, such as dates and running numbers.
    constants_ : Constants
        Columns in which the positives never vary.

    Examples
    --------
    >>> import pandas as pd
    >>> sizes, sites = [1.0, None, 2.0, None], ["north", "south"]
    >>> table = pd.DataFrame({"size": sizes * 5, "site": sites * 10})
    >>> from poscount import RCQ
    >>> for column in RCQ(random_state=0).fit(table).columns_:
    ...     print(column)
    size: used as a number, missing in 50 % of the positives
    site: used as 2 categories (north, south)
    """

    names_: list[str]
    kinds_: list[str]
    missing_: np.ndarray
    n_: int
    incomplete_: int
    centres_: np.ndarray
    scales_: np.ndarray
    precision_: np.ndarray
    categories_: list[list[str]]
    rare_: list[list[str]]
    shares_: list[np.ndarray]
    left_out_: list[str]
    constants_: Constants

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "names_": ListOf(Text(), "columns", distinct=True),
        "kinds_": ListOf(Text(("number", "category")), "columns"),
        "missing_": Array("int64", ("columns",), least=0),
        "n_": Whole(1),
        "incomplete_": Whole(),
        "centres_": Array("float64", ("numbers",)),
        "scales_": Array("float64", ("numbers",), least=5e-324),
        "precision_": Array("float64", ("correlated", "correlated")),
        "categories_": ListOf(ListOf(Text(), distinct=True), "columns"),
        "rare_": ListOf(ListOf(Text(), distinct=True), "columns"),
        "shares_": ListOf(Array("float64", (None,), least=0, most=1), "columns"),
        "left_out_": ListOf(Text(), distinct=True),
        "constants_": Part("Constants"),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every index is in range and every number finite."""
        require(len(self.names_), "a table without columns is none.")
        require(len(self.centres_) == len(self.numbers), "a column of numbers has no mean.")
        require((self.missing_ <= self.n_).all(), "more positives lack a value than there are.")
        self._imputation.check()
        constants = self.constants_
        require(len(constants.values_) == len(self.names_), "constants are of other columns.")
        require(constants.exceptions_ < self.n_, "more positives are exceptions than there are.")
        for j, kind in enumerate(self.kinds_):
            n_shares, n_categories = len(self.shares_[j]), len(self.categories_[j])
            if kind == "category":
                require(n_shares == n_categories + 1, "a category has no share of the positives.")
                require(n_categories <= MOST_CATEGORIES, "a column has too many categories.")
                value = constants.values_[j]
                known = not np.isfinite(value) or value in range(self.n_values(j))
                require(known, "a constant is none of the categories.")
            else:
                require(not n_shares + n_categories, "a column of numbers has categories.")

    @classmethod
    def plain(cls, names: Sequence[str]) -> Columns:
        """Columns of numbers without gaps."""
        columns = cls()
        columns.names_, columns.kinds_ = list(names), ["number"] * len(names)
        columns.missing_ = np.zeros(len(names), np.int64)
        columns.n_, columns.incomplete_ = 1, 0
        n = len(names)
        columns.centres_, columns.scales_ = np.zeros(n), np.ones(n)
        columns.precision_ = np.empty((0, 0))
        columns.categories_ = [[] for _ in names]
        columns.rare_ = [[] for _ in names]
        columns.shares_ = [np.empty(0) for _ in names]
        columns.left_out_ = []
        columns.constants_ = Constants.none(n)
        return columns

    @classmethod
    def of_numbers(cls, names: Sequence[str], numbers: np.ndarray) -> Columns:
        """Learn from positives that are numbers, of shape (n_columns, n_rows)."""
        columns = cls.plain(names)
        gaps = np.isnan(numbers)
        columns.n_ = numbers.shape[1]
        columns.missing_ = np.count_nonzero(gaps, axis=1)
        columns.incomplete_ = int(np.count_nonzero(gaps.any(axis=0)))
        columns.centres_, columns.scales_, columns.precision_ = learn_imputation(numbers)
        columns.constants_ = columns._learn_constants(numbers)
        return columns

    @classmethod
    def learn(
        cls,
        names: Sequence[str],
        values: Iterator[np.ndarray | Categorical],
        left_out: Sequence[str],
    ) -> Columns:
        """Learn from the columns of the positives, each as numbers or as words."""
        columns = cls.plain(names)
        columns.left_out_ = list(left_out)
        numbers, codes = [], []
        incomplete: np.ndarray | bool = False
        for j, column in enumerate(values):
            if isinstance(column, Categorical):
                columns._learn_categories(j, column)
                gaps = column.places < 0
                codes.append(columns.code_categories(j, column))
            else:
                gaps = np.isnan(column)
                numbers.append(column)
                codes.append(column)
            columns.n_, columns.missing_[j] = len(gaps), np.count_nonzero(gaps)
            incomplete = incomplete | gaps
        columns.incomplete_ = int(np.count_nonzero(incomplete))
        imputation = learn_imputation(np.array(numbers).reshape(len(numbers), columns.n_))
        columns.centres_, columns.scales_, columns.precision_ = imputation
        columns.constants_ = columns._learn_constants(codes)
        return columns

    def _learn_constants(self, codes: Sequence[np.ndarray] | np.ndarray) -> Constants:
        # The code of rare words stands for several.
        mixed = [
            float(len(categories)) if len(rare) > 1 else np.inf
            for categories, rare in zip(self.categories_, self.rare_, strict=True)
        ]
        return Constants.learn(codes, mixed)

    def of_group(self, codes: np.ndarray, n_derived: int = 0) -> Columns:
        """The same columns, with the constants of some rows of codes.

        The last columns, if they are `n_derived` numbers made of others, are none.
        """
        constants = self._learn_constants(codes.T)
        constants.values_[len(self.names_) - n_derived :] = np.inf
        return self.with_constants(constants)

    def with_constants(self, constants: Constants) -> Columns:
        """The same columns with other constants."""
        columns = copy.copy(self)
        columns.constants_ = constants
        return columns

    def with_numbers(self, names: Sequence[str]) -> Columns:
        """The same columns, and behind them numbers that every row has."""
        columns, more = Columns(), Columns.plain(names)
        for name in ("names_", "kinds_", "categories_", "rare_", "shares_"):
            setattr(columns, name, [*getattr(self, name), *getattr(more, name)])
        for name in ("missing_", "centres_", "scales_"):
            setattr(columns, name, np.concatenate([getattr(self, name), getattr(more, name)]))
        # They say nothing about what is missing in others.
        columns.precision_ = self.precision_
        if len(self.precision_):
            columns.precision_ = block_diag(self.precision_, np.eye(len(names)))
        columns.n_, columns.incomplete_ = self.n_, self.incomplete_
        columns.left_out_ = list(self.left_out_)
        columns.constants_ = Constants.none(len(columns.names_))
        columns.constants_.values_[: len(self.names_)] = self.constants_.values_
        columns.constants_.exceptions_ = self.constants_.exceptions_
        return columns

    def _learn_categories(self, j: int, column: Categorical) -> None:
        there = column.places >= 0
        self.kinds_[j] = "category"
        sizes = np.bincount(column.places[there], minlength=len(column.distinct))
        # The alphabet decides between categories of one size.
        ranked = sorted(zip(-sizes, column.distinct, strict=True))
        frequent = [word for size, word in ranked if -size >= FEWEST][:MOST_CATEGORIES]
        self.categories_[j] = sorted(frequent)
        found = dict(zip(column.distinct, sizes.tolist(), strict=True))
        shares = np.array([found[word] for word in self.categories_[j]], float)
        total = max(int(sizes.sum()), 1)
        self.shares_[j] = np.append(shares, total - shares.sum()) / total
        self.rare_[j] = sorted({word for size, word in ranked if size < 0} - set(frequent))

    def _repr_html_(self) -> str:
        return notebook.piece(notebook.listed((f"{each.name}:", each.use) for each in self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's shows parameters, of which there are none.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __len__(self) -> int:
        return len(self.names_) + len(self.left_out_)

    def __iter__(self) -> Iterator[Column]:
        means = iter(self.centres_.tolist())
        for j, kind in enumerate(self.kinds_):
            yield Column(
                self.names_[j],
                kind,
                float(self.missing_[j] / self.n_),
                tuple(self.categories_[j]),
                tuple(self.rare_[j]),
                self._shared(j),
                next(means) if kind == "number" else None,
            )
        for name in self.left_out_:
            yield Column(name, "left out")

    def _shared(self, j: int) -> str:
        """The value that all positives share, in words."""
        value = float(self.constants_.values_[j])
        if np.isinf(value):
            return ""
        if self.kinds_[j] == "number" or np.isnan(value):
            return f"{value:.6g}"
        return [*self.categories_[j], *self.rare_[j]][int(value)]

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self if column.name == name)

    # Of a table, as codes

    @property
    def numbers(self) -> np.ndarray:
        """Places of the columns of numbers."""
        return np.flatnonzero(np.array(self.kinds_) == "number")

    @property
    def categorical(self) -> np.ndarray:
        """Places of the columns of categories."""
        return np.flatnonzero(np.array(self.kinds_) == "category")

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, of which no positive lacks any."""
        return self.all_numbers and not self.missing_.any()

    @property
    def all_numbers(self) -> bool:
        """Whether there is no column of categories."""
        return "category" not in self.kinds_

    def n_values(self, j: int) -> int:
        """Values of a column of categories: its categories, and one for all rare ones."""
        return len(self.categories_[j]) + bool(self.rare_[j])

    def unseen(self, j: int) -> int:
        """Code of the words that no positive has."""
        return len(self.categories_[j]) + 1

    def code_categories(self, j: int, column: Categorical) -> np.ndarray:
        """Codes of a column of categories.

        They are the place among `categories_`; one more for rare ones and two more for words that
        no positive has, whether or not there are any; NaN for missing.
        """
        n = len(self.categories_[j])
        known = {word: float(i) for i, word in enumerate(self.categories_[j])}
        known |= dict.fromkeys(self.rare_[j], float(n))
        codes = [known.get(word, float(self.unseen(j))) for word in column.distinct]
        # The last one is taken by the place -1.
        return np.array([*codes, np.nan])[column.places]

    # Codes, as bins of regions

    def n_bins(self, j: int) -> int:
        """Bins of a column of categories: its values, and missing if some positives are."""
        return self.n_values(j) + bool(self.missing_[j])

    def bins(self, j: int) -> list[str]:
        """What the bins of a column of categories are called."""
        rare = ["a rare one"] if self.rare_[j] else []
        return [*self.categories_[j], *rare, *(["missing"] if self.missing_[j] else [])]

    def bins_of_codes(self, places: np.ndarray) -> np.ndarray:
        """Bin of each code of columns of categories; 255 where no positive has the value.

        A line for each column; its last bin is that of missing values.
        """
        n_codes = max((self.unseen(j) for j in places.tolist()), default=0) + 1
        bins = np.full((len(places), n_codes + 1), 255, np.uint8)
        for line, j in zip(bins, places.tolist(), strict=True):
            line[: self.n_values(j)] = np.arange(self.n_values(j))
            if self.missing_[j]:
                line[-1] = self.n_values(j)
        return bins

    # Codes, as numbers for a score

    @property
    def gapped(self) -> np.ndarray:
        """Places of the columns of numbers that are missing in some positives."""
        return np.array([j for j in self.numbers if self.missing_[j]], np.intp)

    @property
    def design_names(self) -> list[str]:
        """Names of the columns of the design matrix."""
        names = [self.names_[j] for j in self.numbers]
        return names + [f"{self.names_[j]} is {value}" for j, value, _ in self._indicators()]

    @property
    def n_design(self) -> int:
        """Number of columns of the design matrix."""
        of_words = (self.n_values(j) for j in self.categorical.tolist())
        return len(self.numbers) + sum(n if n > 2 else n - 1 for n in of_words if n)

    def _indicators(self) -> Iterator[tuple[int, str, int]]:
        """Columns, values and codes that get a column of zeros and ones in the design matrix.

        Of two values the second gets none, because it is where the other is not.
        """
        for j in self.categorical.tolist():
            n = self.n_values(j)
            for code in range(n if n > 2 else n - 1):
                yield j, self.bins(j)[code], code

    @property
    def n_redundant(self) -> int:
        """Columns of the design matrix that follow from others, because zeros and ones add up."""
        return sum(self.n_values(j) > 2 for j in self.categorical.tolist())

    def design(self, coded: np.ndarray, *, gaps: bool = False) -> np.ndarray:
        """Finite numbers for each row of codes: numbers without gaps, then zeros and ones.

        A table of numbers without gaps is returned as it is, and so are sparse rows.

        Parameters
        ----------
        coded : ndarray of shape (n_rows, n_columns)
        gaps : bool
            Whether there are, at the end, zeros and ones that tell where numbers are missing. They
            are for classifiers, which can leave them alone; a distance would consist of them.
        """
        if not isinstance(coded, np.ndarray):
            return coded
        if self.is_plain:
            # The sum is the cheapest test for NaN.
            with np.errstate(over="ignore", invalid="ignore"):
                any_missing = np.isnan(np.sum(coded))
            return self._imputation.fill(coded.T).T if any_missing else coded
        # Columns stay columns in memory, because rows would be scattered.
        columns = np.ascontiguousarray(coded.T, np.float64)
        indicators = list(self._indicators())
        gapped = self.gapped.tolist() if gaps else []
        n_numbers = len(self.numbers)
        made = np.empty((n_numbers + len(indicators) + len(gapped), len(coded)))
        made[:n_numbers] = self._imputation.fill(columns[self.numbers])
        missing = {
            j: rows for j in self.categorical.tolist() if (rows := np.isnan(columns[j])).any()
        }
        for place, (j, _, code) in zip(made[n_numbers:], indicators, strict=False):
            np.equal(columns[j], code, out=place, casting="unsafe")
            if j in missing:
                # What can be expected of the positives.
                place[missing[j]] = self.shares_[j][code]
        for place, j in zip(made[n_numbers + len(indicators) :], gapped, strict=True):
            place[:] = np.isnan(columns[j])
        return made.T

    @property
    def _imputation(self) -> Imputation:
        return Imputation(self.centres_, self.scales_, self.precision_)
