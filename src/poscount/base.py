"""What all quantifiers share: taking data in, and the way from rows to a prevalence."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self, cast

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from poscount import persistence
from poscount.counts import Counts, GroupedCounts, Skipped
from poscount.errors import InputError, join_names, require_rows
from poscount.prevalence import Estimate, Prevalence, as_columns
from poscount.seeds import seed_of
from poscount.threads import sum_over_blocks
from poscount.validation import (
    BLOCK_ROWS,
    InputSupport,
    Rows,
    as_frame,
    as_frame_with_names,
    group_codes,
    learn_rows,
    sample_rows,
)
from poscount.verdict import Caution


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
    """

    random_state: Any

    def fit(self, positives: Any, y: Any = None, *, features: Sequence[str] | None = None) -> Self:
        """Learn from labelled positives.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives and nothing else.
        y : ignored
            Exists for compatibility with scikit-learn.
        features : sequence of str, optional
            Columns to use, if the positives are a frame with others as well.
        """
        self._validate_params()
        self.seed_ = seed_of(self.random_state)
        positives, features = self._set_apart(positives, features)
        rows = learn_rows(self, positives, features, self._input_support())
        self.n_labeled_ = len(rows)
        self._learn(rows)
        return self

    def quantify(self, sample: Any) -> Prevalence:
        """Estimate the share of positives in a sample.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows. The columns of a frame are chosen by name; others are ignored.
        """
        return self._quantify(self._sample(sample, allow_empty=False))

    def predict(self, X: Any) -> Prevalence:
        """Same as `quantify`, for pipelines; as strict about column names as scikit-learn."""
        check_is_fitted(self)
        if as_frame(X) is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.quantify(X)

    def quantify_by(self, frame: Any, by: str | Sequence[str]) -> Any:
        """Estimate the share of positives in each group of a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        by : str or sequence of str
            Column or columns whose values define the groups.

        Returns
        -------
        frame of the caller's kind
            One row per group, sorted: the grouping columns, then `prevalence`, `low`, `high`,
            `count`, `n`, `verdict` (its grade) and `warnings` (their codes).
        """
        groups, answers = self._answers_by_group(frame, by)
        columns = as_columns(answers)
        clash = sorted(set(groups.columns) & set(columns))
        if clash:
            raise InputError(
                "the result has a column of this name; rename the grouping column.",
                column=clash[0],
            )
        backend = groups.implementation
        series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
        return groups.with_columns(*series).to_native()

    def quantify_groups(self, frame: Any, by: str | Sequence[str]) -> dict[tuple, Prevalence]:
        """Estimate the share of positives in each group of a frame, as `Prevalence` objects.

        Parameters
        ----------
        frame, by
            As in `quantify_by`.

        Returns
        -------
        dict
            From the values of the grouping columns, as a tuple, to a `Prevalence`.
        """
        groups, answers = self._answers_by_group(frame, by)
        return dict(zip(groups.rows(), answers, strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `poscount.load` reads."""
        check_is_fitted(self)
        persistence.save(self, path)

    def _set_apart(
        self, positives: Any, features: Sequence[str] | None
    ) -> tuple[Any, Sequence[str] | None]:
        """Take from the positives what a method needs and is no feature."""
        return positives, features

    def _input_support(self) -> InputSupport:
        return InputSupport()

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

    def _prevalence(self, estimate: Estimate, n_rows: int) -> Prevalence:
        return Prevalence(
            estimate.value,
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            method=type(self).__name__,
            interval=estimate.interval,
            warnings=estimate.warnings,
            details={"seed": self.seed_, **estimate.details},
        )

    def _answers_by_group(
        self, frame: Any, by: str | Sequence[str]
    ) -> tuple[nw.DataFrame, list[Prevalence]]:
        wrapped = as_frame_with_names(frame)
        groups, codes = group_codes(wrapped, _grouping(by))
        require_rows(len(groups))
        return groups, self._quantify_groups(wrapped, codes, len(groups))

    def _quantify_groups(
        self, frame: nw.DataFrame, codes: np.ndarray, n_groups: int
    ) -> list[Prevalence]:
        return [self.quantify(frame.filter((codes == i).tolist())) for i in range(n_groups)]

    @abstractmethod
    def _learn(self, rows: Rows) -> None: ...

    @abstractmethod
    def _quantify(self, rows: Rows) -> Prevalence: ...


class CountingQuantifier(Quantifier):
    """A quantifier that sees a sample only through counts.

    A subclass says how rows become counts (`_tally`) and how counts become estimates
    (`_estimate`), both for many groups at once.

    Attributes
    ----------
    hash_ : str
        Content hash of what was learned. Counts carry it, so that no other model can use them.
    """

    n_jobs: int | None
    hash_: str

    def count(self, sample: Any) -> Counts:
        """Count the rows of a sample in each cell; counts of batches add up.

        An empty batch gives counts of zero.
        """
        return cast(Counts, BatchCounter(self).count(sample))

    def count_by(self, frame: Any, by: str | Sequence[str]) -> GroupedCounts:
        """Count the rows of each group of a frame."""
        return cast(GroupedCounts, BatchCounter(self, _grouping(by)).count(frame))

    def estimate(self, counts: Counts) -> Prevalence:
        """Turn counts into a prevalence, the same as `quantify` gives for the rows counted."""
        self._check_counts(counts)
        require_rows(counts.n, "These counts have")
        (answer,) = self._prevalences(counts.cells[np.newaxis], np.array([counts.n]))
        return _with_skipped([answer], counts.skipped)[0]

    def estimate_by(self, counts: GroupedCounts) -> list[Prevalence]:
        """Turn the counts of groups into prevalences, in the order of ``counts.keys``."""
        self._check_counts(counts)
        return _with_skipped(self._prevalences(counts.cells, counts.n), counts.skipped)

    def _check_counts(self, counts: Counts | GroupedCounts) -> None:
        check_is_fitted(self)
        if counts.model != self.hash_:
            raise ValueError(
                f"These counts were made by another model ({counts.model[:12]}) than this one "
                f"({self.hash_[:12]}): count again with this model."
            )

    def _prevalences(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Prevalence]:
        pairs = zip(self._estimate(cells, n_rows), n_rows.tolist(), strict=True)
        return [self._prevalence(estimate, n) for estimate, n in pairs]

    def _quantify(self, rows: Rows) -> Prevalence:
        return self._prevalences(self._count(rows, None, 1), np.array([len(rows)]))[0]

    def _quantify_groups(
        self, frame: nw.DataFrame, codes: np.ndarray, n_groups: int
    ) -> list[Prevalence]:
        cells = self._count(self._sample(frame), codes, n_groups)
        return self._prevalences(cells, np.bincount(codes, minlength=n_groups))

    def _count(self, rows: Rows, codes: np.ndarray | None, n_groups: int) -> np.ndarray:
        def tally(start: int, stop: int, counted: np.ndarray) -> None:
            groups = None if codes is None else codes[start:stop]
            self._tally(rows.block(start, stop), groups, counted)

        shape, n_workers = (n_groups, self._n_cells), effective_n_jobs(self.n_jobs)
        return sum_over_blocks(tally, shape, len(rows), BLOCK_ROWS, n_workers)

    @property
    @abstractmethod
    def _n_cells(self) -> int: ...

    @abstractmethod
    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        """Add the rows of a block to `counted`, an int64 array of shape (n_groups, n_cells)."""

    @abstractmethod
    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Estimate]:
        """Turn counts of shape (n_groups, n_cells) into estimates."""


class BatchCounter:
    """Counts batches of rows with a fitted model, which is checked once and not for every batch.

    Parameters
    ----------
    model : CountingQuantifier
    by : str or sequence of str
        Grouping columns, if there are any.
    """

    def __init__(self, model: CountingQuantifier, by: str | Sequence[str] = ()) -> None:
        check_is_fitted(model)
        self.model = model
        self.by = _names(by)
        self._accepts = model._input_support()

    def count(self, batch: Any) -> Counts | GroupedCounts:
        """Count the rows of a batch, of each group if there are grouping columns."""
        if not self.by:
            rows = sample_rows(self.model, batch, self._accepts)
            return self.counts_of([()], self.model._count(rows, None, 1), np.array([len(rows)]))
        frame = as_frame_with_names(batch)
        groups, codes = group_codes(frame, self.by)
        cells = self.count_codes(frame, codes, len(groups))
        return self.counts_of(groups.rows(), cells, np.bincount(codes, minlength=len(groups)))

    def count_codes(self, batch: Any, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Count the rows of groups that are numbers, from 0 to `n_groups` - 1.

        Returns
        -------
        ndarray of int64, shape (n_groups, n_cells)
        """
        rows = sample_rows(self.model, batch, self._accepts)
        return self.model._count(rows, codes, n_groups)

    def counts_of(
        self, keys: list[tuple], cells: np.ndarray, n_rows: np.ndarray
    ) -> Counts | GroupedCounts:
        """Make counts of cells, one row of them for each group."""
        if self.by:
            return GroupedCounts(self.by, keys, cells, n_rows, self.model.hash_)
        return Counts(cells[0], int(n_rows[0]), self.model.hash_)

    @property
    def n_cells(self) -> int:
        """Number of cells of the model."""
        return self.model._n_cells


def _with_skipped(answers: list[Prevalence], skipped: Sequence[Skipped]) -> list[Prevalence]:
    """Warn of the files that are not part of the answers."""
    if not skipped:
        return answers
    caution = Caution(
        "skipped-files",
        f"{len(skipped)} file(s) could not be counted and are not part of this estimate: "
        f"{join_names(file for file, _ in skipped)}.",
        float(len(skipped)),
    )
    return [answer.with_warning(caution) for answer in answers]


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def _grouping(by: str | Sequence[str]) -> tuple[str, ...]:
    if not _names(by):
        raise InputError("Groups need at least one column to group by.", option="by")
    return _names(by)
