"""Results of experiments in one SQLite file: written as they arrive, each exactly once."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self

from poscount.errors import InputError
from poscount.storage.writer import check_output, is_standard_output
from research.datasets import DataSet
from research.experiments.protocols import N_POINTS, Place

# 2: folds are drawn anew for every prevalence, and results of shared folds must not be among them.
FORMAT = "poscount experiments 2"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs (
  run INTEGER PRIMARY KEY, started TEXT NOT NULL, command TEXT NOT NULL, poscount TEXT NOT NULL,
  python TEXT NOT NULL, machine TEXT NOT NULL, packages TEXT NOT NULL
);
CREATE TABLE datasets (
  dataset TEXT PRIMARY KEY, title TEXT NOT NULL, sha256 TEXT NOT NULL,
  n_rows INTEGER NOT NULL, n_features INTEGER NOT NULL, n_positives INTEGER NOT NULL
);
CREATE TABLE evaluations (
  experiment TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL, negative TEXT NOT NULL,
  repetition INTEGER NOT NULL, fold INTEGER NOT NULL, point INTEGER NOT NULL,
  truth REAL, estimate REAL, low REAL, high REAL, n_labeled INTEGER, n_unlabeled INTEGER,
  warnings TEXT NOT NULL, curve BLOB, error TEXT, fit_seconds REAL, seconds REAL,
  run INTEGER NOT NULL REFERENCES runs,
  PRIMARY KEY (experiment, dataset, method, negative, repetition, fold, point)
) WITHOUT ROWID;
"""


class Evaluation(NamedTuple):
    """One answer of one method to one sample: the columns of the table in order, except `run`.

    Attributes
    ----------
    experiment, dataset, method, negative, repetition, fold, point
        Together the key.
    truth, estimate, low, high
        Shares of the sample; None without an estimate or an interval.
    n_labeled, n_unlabeled
        Numbers of positives and of rows in the sample.
    warnings
        Codes, separated by spaces.
    curve
        Little-endian float64 estimates by quantile (PAT) or threshold (BFT).
    error
        Message if the method failed.
    fit_seconds, seconds
        CPU time for fitting and for this answer.
    """

    experiment: str
    dataset: str
    method: str
    negative: str
    repetition: int
    fold: int
    point: int
    truth: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_labeled: int | None = None
    n_unlabeled: int | None = None
    warnings: str = ""
    curve: bytes | None = None
    error: str | None = None
    fit_seconds: float | None = None
    seconds: float | None = None


class Store:
    """A results file.

    Rows are keyed by what was evaluated, so that nothing is stored twice. Each call of `add` is one
    transaction, so that a process killed at any moment leaves a file with everything added before.
    All results in a file have one seed, and the checksum of each data set is stored, so that no
    file mixes results of different samples.

    Parameters
    ----------
    path : str or Path
        The file; it is created if it does not exist.
    seed : int
        Seed of the samples and of the methods.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with Store(f"{directory}/results.sqlite", seed=0) as store:
    ...         store.count()
    0
    """

    def __init__(self, path: str | Path, seed: int) -> None:
        self.path = Path(path)
        if is_standard_output(path):
            raise InputError("a database cannot be written to standard output.", file=str(path))
        check_output(path)
        with self._sentences():
            self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                self._prepare(seed)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, seed: int) -> None:
        with self._transaction():
            tables = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
            if not tables:
                for statement in _TABLES.split(";\n"):
                    self._connection.execute(statement)
                self._connection.executemany(
                    "INSERT INTO about VALUES (?, ?)", [("format", FORMAT), ("seed", str(seed))]
                )
        if tables and ("about",) not in tables:
            raise ValueError(f"{self.path}: this SQLite file holds no results of experiments.")
        about = read_about(self._connection, self.path)
        if about["seed"] != str(seed):
            raise ValueError(
                f"{self.path}: these results have the seed {about['seed']}, not {seed}; write "
                "results of another seed to another file."
            )

    def begin(self, command: str) -> None:
        """Record the start of a run: its command, the machine and the versions."""
        from poscount import __version__

        packages = {name: _version(name) for name in _PACKAGES}
        row = (
            datetime.now(UTC).isoformat(timespec="seconds"),
            command,
            __version__,
            platform.python_version(),
            f"{platform.platform()}, {_processor()}",
            json.dumps(packages),
        )
        with self._sentences(), self._transaction():
            columns = "started, command, poscount, python, machine, packages"
            cursor = self._connection.execute(
                f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row
            )
        self._run = cursor.lastrowid

    def note(self, dataset: DataSet) -> None:
        """Record a data set; one whose content has changed since then is an error."""
        facts = (
            dataset.key,
            dataset.title,
            dataset.sha256,
            *dataset.features.shape,
            int(dataset.is_positive.sum()),
        )
        with self._sentences(), self._transaction():
            self._connection.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (dataset) DO NOTHING",
                facts,
            )
            stored = self._connection.execute(
                "SELECT * FROM datasets WHERE dataset = ?", (dataset.key,)
            ).fetchone()
        if stored[2:] != facts[2:]:
            raise ValueError(
                f"{self.path}: data set {dataset.key!r} has changed since results of it were "
                "stored here; write the new results to another file."
            )

    def done(self) -> set[tuple[Place, str]]:
        """Places and methods that have a row for every sample."""
        query = (
            "SELECT experiment, dataset, negative, repetition, fold, method FROM evaluations "
            "GROUP BY experiment, dataset, method, negative, repetition, fold HAVING COUNT(*) = ?"
        )
        with self._sentences():
            return {
                (Place(*row[:5]), row[5]) for row in self._connection.execute(query, (N_POINTS,))
            }

    def add(self, rows: Iterable[Evaluation]) -> None:
        """Store all the rows or none; rows that are already there stay as they are."""
        marks = ", ".join("?" * (len(Evaluation._fields) + 1))
        key = ", ".join(Evaluation._fields[:7])
        with self._sentences(), self._transaction():
            self._connection.executemany(
                f"INSERT INTO evaluations VALUES ({marks}) ON CONFLICT ({key}) DO NOTHING",
                [(*row, self._run) for row in rows],
            )

    def fill(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Put whole rows into a table: those of another results file."""
        with self._sentences(), self._transaction():
            names = [row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")]
            marks = ", ".join("?" * len(names))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def forget_failures(self) -> int:
        """Delete the rows of failed evaluations, so that they are run again; return how many."""
        with self._sentences(), self._transaction():
            return self._connection.execute(
                "DELETE FROM evaluations WHERE error IS NOT NULL"
            ).rowcount

    def count(self) -> int:
        """Number of evaluations."""
        with self._sentences():
            return self._connection.execute("SELECT COUNT(*) FROM evaluations").fetchone()[0]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE: a second runner on the same file waits here, not in the middle of its work.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk may have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn an error of the disk or of SQLite into one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(
                f"{self.path}: the results cannot be read or written there ({error}); what was "
                "stored before is kept. Free some space or choose another file, and run again to "
                "resume."
            ) from error


def read_about(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    """Format and seed of a results file; another format is an error."""
    about = dict(connection.execute("SELECT key, value FROM about").fetchall())
    if about.get("format") != FORMAT:
        raise ValueError(
            f"{path}: this results file has the format {about.get('format')!r}, and this version "
            f"of poscount reads {FORMAT!r}."
        )
    return about


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Name of the processor, if the system tells it, and the number of cores."""
    cores = f"{os.cpu_count()} cores"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.processor()}, {cores}"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {cores}"
