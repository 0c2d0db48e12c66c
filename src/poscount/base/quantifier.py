"""What all quantifiers share: taking data in, and the way from rows to a prevalence."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from poscount.data.columns import Columns
from poscount.data.grouping import (
    group_codes,
    group_columns,
    group_keys,
    require_grouping,
    with_groups,
)
from poscount.data.known_rows import KnownRows, learn_known_rows
from poscount.data.repeated_values import N_BUCKETS, RepeatedValues, learn_repetition
from poscount.data.rows import InputSupport, Rows
from poscount.data.rows_seen import RowsSeen
from poscount.data.validation import (
    as_frame,
    as_frame_with_names,
    learn_rows,
    sample_rows,
    split_by_label,
)
from poscount.errors import InputError, require_rows
from poscount.results.estimates import Estimates
from poscount.results.groups import GroupAnswers
from poscount.results.prevalence import Prevalence, as_columns
from poscount.results.user_knowledge import user_knowledge
from poscount.results.verdict import AnswerWarning
from poscount.seeds import seed_of
from poscount.storage import model_files
from poscount.storage.schema import Array, Field, ListOf, MayLack, Part, Text, Whole, require

# In an error that says which features to fit a model with.
MOST_FEATURES_NAMED = 20


class Quantifier(BaseEstimator):
    """Learns from positives alone, and then estimates the share of positives in a sample.

    A subclass stores its parameters in ``__init__``, learns in `_learn` and answers in `_quantify`.
    It has a parameter `random_state`, and leaves everything else to this class.

    Attributes
    ----------
    n_labeled_ : int
        Number of positives.
    seed_ : int
        Seed of everything random; passed as `random_state`, it reproduces the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the positives were a frame.
    numeric_features_ : list of str
        The features that were numbers.
    columns_ : Columns
        What became of each column: its kind, its categories, what is missing.
    known_column_, known_rows_ : int, ndarray of shape (n_known, 2)
        Codes of the positives, by which they are found in a sample
        (`poscount.data.known_rows`); none where values are coarse.
    fine_columns_, fine_buckets_ : ndarray of shape (n_fine,) and (n_fine, n_bytes)
        Columns of numbers that rarely repeat among the positives, and which numbers they have
        (`poscount.data.repeated_values`).
    projection_ : Projection or LearnedProjection
        How sparse rows, or those of more than 200 columns, were projected; only then, and only in
        methods that take them.
    """

    random_state: Any

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "n_labeled_": Whole(1, size="positives"),
        "seed_": Whole(0, 2**32 - 1),
        "n_features_in_": Whole(1, size="features"),
        "feature_names_in_": MayLack(ListOf(Text(), "features", distinct=True, array=True)),
        "numeric_features_": MayLack(ListOf(Text(), distinct=True)),
        "columns_": MayLack(Part("Columns")),
        "known_column_": MayLack(Whole(0)),
        "known_rows_": MayLack(Array("int64", (None, 2))),
        "fine_columns_": MayLack(Array("int64", ("fine",), least=0)),
        "fine_buckets_": MayLack(Array("uint8", ("fine", N_BUCKETS // 8))),
        "projection_": MayLack(Part("Projection", "LearnedProjection")),
    }

    def fit(self, positives: Any, y: Any = None, *, features: Sequence[str] | None = None) -> Self:
        """Learn from labelled positives.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else.
        y : array-like of shape (n_rows,), optional
            Which rows are labelled, as in scikit-learn's libraries for such data: 1 for a labelled
            positive, anything else for an unlabeled row. This method learns from the positives.
        features : sequence of str, optional
            Columns to use, if the positives are a frame with others as well.
        """
        rows, _ = self._take_in(positives, y, features)
        self._learn(rows)
        return self

    def _take_in(self, positives: Any, y: Any, features: Sequence[str] | None) -> tuple[Rows, Any]:
        """Rows of the positives, and the unlabeled rows that `y` tells apart from them, if any."""
        self._validate_params()
        self.seed_ = seed_of(self.random_state)
        positives, unlabeled = split_by_label(positives, y)
        positives, features = self._split_labels(positives, features)
        rows = learn_rows(self, positives, features, self._input_support())
        self.n_labeled_ = len(rows)
        self.known_column_, self.known_rows_ = 0, np.empty((0, 2), np.int64)
        none = np.empty((0, self.n_features_in_))
        self.fine_columns_, self.fine_buckets_ = learn_repetition(none, np.empty(0, int))
        if rows.columns is not None and rows.projection is None and not sparse.issparse(rows.data):
            codes = rows.to_array()
            self.known_column_, self.known_rows_ = learn_known_rows(codes)
            self.fine_columns_, self.fine_buckets_ = learn_repetition(codes, rows.columns.numbers)
        return rows, unlabeled

    def quantify(self, sample: Any, *, weights: Any = None, cluster: Any = None) -> Prevalence:
        """Estimate the share of positives in a sample.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows. The columns of a frame are chosen by name; others are ignored.
        weights : array-like or str, optional
            Weight of each row, or the column of the frame that has it; only for methods that count
            (`CountingQuantifier`). If all weights are whole numbers, they are numbers of
            repetitions; otherwise they are survey weights (`poscount.counts.weights.WeightSums`).
        cluster : array-like or str, optional
            Cluster of each row, such as its patient or trap, or the column that names it; only for
            methods that count. The interval is then for the population that the clusters are from.
        """
        self._refuse_columns(weights=weights, cluster=cluster)
        rows = self._sample(sample, allow_empty=False)
        return self._told_of_rows(rows, self._quantify(rows))

    def without_positives(self, sample: Any) -> Any:
        """A sample without the labelled positives that are in it, too, as all are in a register.

        A row is left out if it equals a positive that the model has learned from in all columns
        that it uses; of equal rows, as many as were labelled.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows.

        Returns
        -------
        array or frame
            The same without these rows.

        Examples
        --------
        >>> import numpy as np
        >>> from poscount import PAT
        >>> everything = np.random.default_rng(0).normal(size=(500, 3))
        >>> model = PAT(random_state=0).fit(everything[:100])
        >>> len(model.without_positives(everything))
        400
        """
        check_is_fitted(self)
        rows, seen = self._sample(sample), self._rows_seen()
        if seen is None or seen.known is None:
            raise InputError(
                "The values are so coarse that rows are equal by chance, so labelled positives "
                "cannot be told from others: leave them out by their identifiers."
            )
        kept = ~seen.look(rows)
        frame = as_frame(sample)
        return sample[kept] if frame is None else frame.filter(kept.tolist()).to_native()

    def _rows_seen(self) -> RowsSeen | None:
        """What looks at the rows of a sample; None if it would see nothing."""
        if not hasattr(self, "known_rows_"):
            return None
        known = KnownRows(self.known_column_, self.known_rows_) if len(self.known_rows_) else None
        if known is None and not len(self.fine_columns_):
            return None
        return RowsSeen(known, RepeatedValues(self.fine_columns_, self.fine_buckets_))

    def _row_warnings(self, seen: RowsSeen) -> Sequence[AnswerWarning]:
        """What a method that has checks says about rows it has seen."""
        return ()

    def _told_of_rows(self, rows: Rows, answer: Prevalence) -> Prevalence:
        """The answer for some rows, with what is to be said about them."""
        seen = self._rows_seen()
        if seen is None or not isinstance(answer, Prevalence):
            return answer
        seen.look(rows)
        return self._told_of(seen, answer)

    def _told_of(self, seen: RowsSeen, answer: Prevalence) -> Prevalence:
        """An answer that says first what its rows tell."""
        warnings = self._row_warnings(seen)
        return answer.replace(warnings=(*warnings, *answer.warnings)) if warnings else answer

    def predict(self, X: Any, *, sample_weight: Any = None) -> Prevalence:
        """Same as `quantify`, in scikit-learn's words, for pipelines and metadata routing.

        There is no `score`, because nobody has the truth, and no `predict_proba`, because the
        probability of a row depends on the others of the sample: `posterior` takes them together.
        """
        return self.quantify(X, weights=sample_weight)

    def quantify_by(
        self,
        frame: Any,
        by: str | Sequence[str],
        *,
        weights: Any = None,
        cluster: str | None = None,
    ) -> Any:
        """Estimate the share of positives in each group of a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        by : str, sequence of str, or series
            Column or columns whose values define the groups, or periods of the time in a column:
            ``"year(date)"``, ``"month(date)"``, ``"week(date)"``, ``"day(date)"``,
            ``"hour(date)"``. Or a series with a value for each row. A missing value is a group of
            its own.
        weights : array-like or str, optional
            As in `quantify`; groups in which all weights are 0 have no answer.
        cluster : str, optional
            The column that names the cluster of each row, as in `quantify`.

        Returns
        -------
        frame of the caller's kind
            One row per group, sorted: the grouping columns, then `prevalence`, `low`, `high`,
            `count`, `n`, `verdict` (its status) and `warnings` (their codes).
        """
        frame, by = with_groups(frame, by)
        if cluster is not None:
            groups, answers, _ = self._answers_of_clusters(frame, by, weights, cluster)
            return self._as_table(groups, as_columns(answers))
        return self._as_table(*self._columns_by_group(frame, by, weights))

    @staticmethod
    def _as_table(groups: nw.DataFrame, columns: Mapping[str, Any]) -> Any:
        """A frame of the caller's kind, with columns beside those of the groups."""
        clash = sorted(set(groups.columns) & set(columns))
        if clash:
            raise InputError(
                "the result has a column of this name; rename the grouping column.",
                column=clash[0],
            )
        backend = groups.implementation
        series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
        return groups.with_columns(*series).to_native()

    def quantify_groups(
        self,
        frame: Any,
        by: str | Sequence[str],
        *,
        weights: Any = None,
        cluster: str | None = None,
    ) -> GroupAnswers[Prevalence]:
        """Estimate the share of positives in each group of a frame, as `Prevalence` objects.

        Parameters
        ----------
        frame, by, weights, cluster
            As in `quantify_by`.

        Returns
        -------
        GroupAnswers
            A dictionary from the values of the grouping columns, as a tuple, to a `Prevalence`;
            printed, it is a table. Its `total` is the answer for all rows together.
        """
        frame, by = with_groups(frame, by)
        groups, answers, total = (
            self._answers_and_total(frame, by, weights)
            if cluster is None
            else self._answers_of_clusters(frame, by, weights, cluster)
        )
        pairs = zip(group_keys(groups), answers, strict=True)
        return GroupAnswers(pairs, groups.columns, total, groups.implementation.value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `poscount.load` reads."""
        check_is_fitted(self)
        model_files.save(self, path)

    def check_learned(self) -> None:
        """Raise ValueError unless the columns are the features: files may hold anything."""
        accepts = self._input_support()
        require(hasattr(self, "columns_") == accepts.coded, "its columns are missing.")
        if accepts.coded:
            # Their number first: it may be too large for a list of that many names.
            names = self.columns_.names_
            same = len(names) == self.n_features_in_ and names == self.feature_names
            require(same, "its columns are not its features.")
        looks = ("known_rows_", "known_column_", "fine_columns_", "fine_buckets_")
        there = [hasattr(self, name) for name in looks]
        require(all(there) or not any(there), "a part of what looks at rows is missing.")
        if all(there):
            ours = self.known_column_ < self.n_features_in_
            require(ours, "it knows rows by no column of its own.")
            fine = self.fine_columns_
            ours = (np.diff(fine) > 0).all() and fine.max(initial=0) < self.n_features_in_
            require(bool(ours), "it looks at columns that are not its own.")
        if hasattr(self, "projection_"):
            require(accepts.wide, "it cannot have a projection.")
            same = self.projection_.n_columns == self.columns_.n_design
            require(not len(getattr(self, "known_rows_", ())), "projected rows cannot be known.")
            require(same, "its projection is of other columns.")

    def _split_labels(
        self, positives: Any, features: Sequence[str] | None
    ) -> tuple[Any, Sequence[str] | None]:
        """Split off the column of the positives that a method needs and that is no feature."""
        return positives, features

    def _input_support(self) -> InputSupport:
        return InputSupport(nan=True, text=True, coded=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        accepts = self._input_support()
        tags.input_tags.allow_nan = accepts.nan
        tags.input_tags.categorical = tags.input_tags.string = accepts.text
        return tags

    @property
    def gives_interval(self) -> bool:
        """Whether its answers have a distribution, and thus an interval."""
        return hasattr(self, "confidence")

    @property
    def model_columns(self) -> Columns:
        """Columns of the rows as the method gets them: those of the table, or its projection."""
        projection = getattr(self, "projection_", None)
        return self.columns_ if projection is None else Columns.plain(projection.names)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; x0, x1, ... if the positives had none."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _sample(self, sample: Any, *, allow_empty: bool = True) -> Rows:
        check_is_fitted(self)
        rows = sample_rows(self, sample, self._input_support())
        if not allow_empty:
            require_rows(len(rows))
        return rows

    def _prevalence(
        self,
        estimates: Estimates,
        i: int,
        n_rows: int,
        total_weight: float | None = None,
        more_details: Mapping[str, Any] | None = None,
    ) -> Prevalence:
        """The answer for sample `i`."""
        return Prevalence(
            float(estimates.value[i]),
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            total_weight=total_weight,
            method=type(self).__name__,
            distribution=estimates.distribution(i),
            level=estimates.level,
            warnings=estimates.warnings_of(i),
            details={
                "seed": self.seed_,
                **user_knowledge(vars(self)),
                **estimates.details_of(i),
                **(more_details or {}),
            },
        )

    def _grouping(self, by: str | Sequence[str]) -> tuple[str, ...]:
        """What rows are grouped by, which cannot be a feature."""
        names = require_grouping(by)
        features = list(getattr(self, "feature_names_in_", []))
        for column in group_columns(names, features):
            if column in features:
                rest = [name for name in features if name != column]
                raise InputError(
                    "rows cannot be grouped by a feature of the model: positives of all other "
                    "groups would look unlike the rows of each. Fit the model again without it.",
                    column=column,
                    option="features" if rest else None,
                    value=rest if len(rest) <= MOST_FEATURES_NAMED else None,
                )
        return names

    def _refuse_columns(self, **columns: Any) -> None:
        """Refuse weights and clusters of rows."""
        for option, value in columns.items():
            if value is not None:
                raise InputError(
                    f"{type(self).__name__} cannot use {option}, because it looks at rows and not "
                    "at counts: use a reusable method such as RCQ.",
                    option=option,
                    leave_out=True,
                )

    def _columns_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, Mapping[str, Any]]:
        """Groups, and the columns of their answers."""
        groups, answers = self._answers_by_group(frame, by, weights)
        return groups, as_columns(answers)

    def _answers_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, list[Prevalence]]:
        self._refuse_columns(weights=weights)
        wrapped = as_frame_with_names(frame)
        groups, codes = group_codes(wrapped, self._grouping(by))
        require_rows(len(groups))
        parts = (wrapped.filter((codes == i).tolist()) for i in range(len(groups)))
        return groups, [self.quantify(part) for part in parts]

    def _answers_and_total(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, list[Any], Any]:
        """Groups, their answers, and the answer for all rows together."""
        return *self._answers_by_group(frame, by, weights), self.quantify(frame)

    def _answers_of_clusters(
        self, frame: Any, by: str | Sequence[str], weights: Any, cluster: str
    ) -> tuple[nw.DataFrame, list[Any], Any]:
        """The same, with intervals that allow for clusters."""
        self._refuse_columns(weights=weights, cluster=cluster)
        raise NotImplementedError  # methods that count have their own

    @abstractmethod
    def _learn(self, rows: Rows) -> None: ...

    @abstractmethod
    def _quantify(self, rows: Rows) -> Prevalence: ...
