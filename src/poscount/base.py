"""What all quantifiers share: taking data in, and the way from rows to counts to a prevalence."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Self, cast

import narwhals as nw
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from poscount import constraints, persistence
from poscount.counts import Counts, GroupedCounts, Skipped
from poscount.errors import InputError
from poscount.intervals import bootstrap_interval
from poscount.prevalence import Caution, Interval, Prevalence
from poscount.seeds import seed_of, stream
from poscount.threads import run_in_threads
from poscount.validation import (
    BLOCK_ROWS,
    InputSupport,
    Rows,
    as_frame,
    group_codes,
    learn_rows,
    sample_rows,
)

_FILES_NAMED = 5


class Quantifier(BaseEstimator):
    """Learns from positives alone; then says which share of a sample is positive.

    A subclass stores its parameters in ``__init__``, learns in `_learn`, answers in `_quantify`,
    and carries no plumbing. It has a parameter `random_state`.

    Attributes
    ----------
    n_labeled_ : int
        Number of positives learned from.
    seed_ : int
        Seed of everything random; passed as `random_state` it reproduces the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, when the positives came as a frame.
    numeric_features_ : list of str
        Those of them that held numbers.
    """

    random_state: Any

    def fit(self, positives: Any, y: Any = None, *, features: Sequence[str] | None = None) -> Self:
        """Learn from labelled positives.

        Parameters
        ----------
        positives : array or frame of shape (n_labeled, n_features)
            Labelled positives, nothing else.
        y : ignored
            For scikit-learn's sake.
        features : sequence of str, optional
            Columns to use, when the positives are a frame with others besides.
        """
        self._validate_params()
        self.seed_ = seed_of(self.random_state)
        rows = learn_rows(self, positives, features, self._input_support())
        self.n_labeled_ = len(rows)
        self._learn(rows)
        return self

    def quantify(self, sample: Any) -> Prevalence:
        """Estimate the share of positives in a sample.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows. The columns of a frame are picked by name, others are left alone.
        """
        rows = self._sample(sample)
        if len(rows) == 0:
            raise InputError("The sample has no rows (0 sample(s)): at least one is needed.")
        return self._quantify(rows)

    def predict(self, X: Any) -> Prevalence:
        """Do as `quantify`, for pipelines; as strict about column names as scikit-learn."""
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
            Column or columns whose values make the groups.

        Returns
        -------
        frame of the caller's kind
            One row per group, sorted: the grouping columns, then `prevalence`, `low`, `high`,
            `count`, `n` and `warnings` (their codes).
        """
        groups, answers = self._answers_by_group(frame, by)
        missing = float("nan")
        columns = {
            "prevalence": [float(p) for p in answers],
            "low": [p.interval.low if p.interval else missing for p in answers],
            "high": [p.interval.high if p.interval else missing for p in answers],
            "count": [p.count for p in answers],
            "n": [p.n_unlabeled for p in answers],
            "warnings": [" ".join(caution.code for caution in p.warnings) for p in answers],
        }
        clash = sorted(set(groups.columns) & set(columns))
        if clash:
            raise InputError(
                "a grouping column cannot have the name of a column of the result; rename it.",
                column=clash[0],
            )
        backend = groups.implementation
        series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
        return groups.with_columns(*series).to_native()

    def quantify_groups(self, frame: Any, by: str | Sequence[str]) -> dict[tuple, Prevalence]:
        """Estimate the share of positives in each group of a frame, with all that is known of it.

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

    def _input_support(self) -> InputSupport:
        return InputSupport()

    def _feature_name(self, j: int) -> str:
        """Name of a feature; x0, x1, ... where there are none."""
        names = getattr(self, "feature_names_in_", None)
        return f"x{j}" if names is None else str(names[j])

    def _sample(self, sample: Any) -> Rows:
        check_is_fitted(self)
        return sample_rows(self, sample, self._input_support())

    def _answers_by_group(
        self, frame: Any, by: str | Sequence[str]
    ) -> tuple[nw.DataFrame, list[Prevalence]]:
        wrapped = _with_columns(frame)
        groups, codes = group_codes(wrapped, _grouping(by))
        if len(groups) == 0:
            raise InputError("The sample has no rows (0 sample(s)): at least one is needed.")
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

    A subclass says how rows become counts (`_tally`) and how counts become prevalences
    (`_estimate`), both for many groups at once.

    Attributes
    ----------
    hash_ : str
        Content hash of what was learned; counts carry it, so that they meet only their own model.
    """

    n_jobs: int | None
    hash_: str

    def count(self, sample: Any) -> Counts:
        """Count the rows of a sample in each cell; counts of batches add up.

        An empty batch gives counts of nothing.
        """
        return cast(Counts, BatchCounter(self).count(sample))

    def count_by(self, frame: Any, by: str | Sequence[str]) -> GroupedCounts:
        """Count the rows of each group of a frame."""
        return cast(GroupedCounts, BatchCounter(self, _grouping(by)).count(frame))

    def estimate(self, counts: Counts) -> Prevalence:
        """Turn counts into a prevalence: equals `quantify` on all rows that were counted."""
        self._check_counts(counts)
        if counts.n == 0:
            raise InputError("These counts are of no rows (0 sample(s)): at least one is needed.")
        answers = self._estimate(counts.cells[np.newaxis], np.array([counts.n]))
        return _with_skipped(answers, counts.skipped)[0]

    def estimate_by(self, counts: GroupedCounts) -> list[Prevalence]:
        """Turn the counts of groups into prevalences, in the order of ``counts.keys``."""
        self._check_counts(counts)
        return _with_skipped(self._estimate(counts.cells, counts.n), counts.skipped)

    def _check_counts(self, counts: Counts | GroupedCounts) -> None:
        check_is_fitted(self)
        if counts.model != self.hash_:
            raise ValueError(
                f"These counts were made by another model ({counts.model[:12]}) than this one "
                f"({self.hash_[:12]}): count again with this model."
            )

    def _quantify(self, rows: Rows) -> Prevalence:
        return self._estimate(self._count(rows, None, 1), np.array([len(rows)]))[0]

    def _quantify_groups(
        self, frame: nw.DataFrame, codes: np.ndarray, n_groups: int
    ) -> list[Prevalence]:
        cells = self._count(self._sample(frame), codes, n_groups)
        return self._estimate(cells, np.bincount(codes, minlength=n_groups))

    def _count(self, rows: Rows, codes: np.ndarray | None, n_groups: int) -> np.ndarray:
        def tally(start: int, stop: int, counted: np.ndarray) -> None:
            groups = None if codes is None else codes[start:stop]
            self._tally(rows.block(start, stop), groups, counted)

        shape = (n_groups, self._n_cells)
        return _sum_over_blocks(tally, shape, len(rows), effective_n_jobs(self.n_jobs))

    @property
    @abstractmethod
    def _n_cells(self) -> int: ...

    @abstractmethod
    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        """Add the rows of a block to `counted`, an int64 array of shape (n_groups, n_cells)."""

    @abstractmethod
    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Prevalence]:
        """Turn counts of shape (n_groups, n_cells) into prevalences."""


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
        frame = _with_columns(batch)
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


class TransductiveQuantifier(Quantifier):
    """A quantifier that looks at the positives and the sample together, for each sample anew.

    A subclass only computes: `_estimate_from` gets both as float64 matrices, and a generator. It
    has an ``__init__`` of its own only if it has parameters of its own.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_features)
        The positives, kept.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "bootstrap": [constraints.Interval(Integral, 2, None, closed="left"), None],
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    positives_: np.ndarray

    def __init__(
        self,
        *,
        bootstrap: int | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        self.positives_ = np.array(self._matrix(rows), dtype=np.float64, order="C")

    def _matrix(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows.whole(), dtype=np.float64, order="C")

    def _quantify(self, rows: Rows) -> Prevalence:
        sample = self._matrix(rows)
        generator = stream(self.seed_, "estimate")
        value, details = self._estimate_from(self.positives_, sample, generator)
        interval = self._bootstrap_interval(sample, value) if self.bootstrap else None
        return Prevalence(
            value,
            n_labeled=self.n_labeled_,
            n_unlabeled=len(rows),
            method=type(self).__name__,
            interval=interval,
            details={"seed": self.seed_, **details},
        )

    def _bootstrap_interval(self, sample: np.ndarray, value: float) -> Interval:
        # The matrices are arguments of their own, so that processes share them in mapped memory.
        replicates = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_replicate)(self._estimate_from, self.positives_, sample, self.seed_, i)
            for i in range(cast(int, self.bootstrap))
        )
        return bootstrap_interval(value, np.array(replicates), self.confidence)

    @abstractmethod
    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> tuple[float, dict[str, Any]]:
        """Prevalence in the sample, in [0, 1], and what was found on the way."""


def _replicate(
    estimate_from: Callable[..., tuple[float, dict[str, Any]]],
    positives: np.ndarray,
    sample: np.ndarray,
    seed: int,
    i: int,
) -> float:
    """Estimate from a random half of the positives and of the sample."""
    # Its own stream: neither the order nor the number of the workers matters.
    generator = stream(seed, f"bootstrap {i}")
    halves = [
        rows[generator.permutation(len(rows))[: (len(rows) + 1) // 2]]
        for rows in (positives, sample)
    ]
    return estimate_from(*halves, generator)[0]


def _with_skipped(answers: list[Prevalence], skipped: Sequence[Skipped]) -> list[Prevalence]:
    """Say with every answer which files it does not know."""
    if not skipped:
        return answers
    named = ", ".join(file for file, _ in skipped[:_FILES_NAMED])
    more = f" and {len(skipped) - _FILES_NAMED} more" if len(skipped) > _FILES_NAMED else ""
    caution = Caution(
        "skipped-files",
        f"{len(skipped)} file(s) could not be counted and are not in this answer: {named}{more}.",
        float(len(skipped)),
    )
    return [
        Prevalence(
            p,
            n_labeled=p.n_labeled,
            n_unlabeled=p.n_unlabeled,
            method=p.method,
            interval=p.interval,
            warnings=[*p.warnings, caution],
            details=p.details,
        )
        for p in answers
    ]


def _with_columns(data: Any) -> nw.DataFrame:
    frame = as_frame(data)
    if frame is None:
        raise TypeError("Groups need a pandas, polars or pyarrow frame whose columns have names.")
    return frame


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))


def _grouping(by: str | Sequence[str]) -> tuple[str, ...]:
    if not _names(by):
        raise InputError("Groups need at least one column to group by.", option="by")
    return _names(by)


def _sum_over_blocks(
    tally: Callable[[int, int, np.ndarray], None],
    shape: tuple[int, int],
    n_rows: int,
    n_workers: int,
) -> np.ndarray:
    starts = range(0, n_rows, BLOCK_ROWS)
    n_workers = max(min(n_workers, len(starts)), 1)

    errors: list[InputError] = []

    def work(worker: int) -> np.ndarray:
        counted = np.zeros(shape, np.int64)
        try:
            for start in starts[worker::n_workers]:
                tally(start, min(start + BLOCK_ROWS, n_rows), counted)
        except InputError as error:
            errors.append(error)
        return counted

    total, *others = run_in_threads(work, n_workers)
    if errors:
        # Which worker failed first is chance; the first bad row is not.
        raise min(errors, key=lambda error: -1 if error.row is None else error.row)
    for counted in others:
        total += counted
    return total
