"""Figures of files: counting beside a scan that counts nothing, and beside Arrow's own parser."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.engines import FEATURES, fitted, make_files, scan
from benchmarks.speed.watch import Figure, Pair

ROWS = 3 * 10**6
CSV_ROWS = 10**6
DATA = Path(tempfile.gettempdir()) / "poscount-rows"


def parquet_folder() -> Path:
    """Parquet files of 20 float32 features, a million rows each."""
    folder = DATA / str(ROWS)
    make_files(folder, ROWS)
    return folder


def csv_file() -> Path:
    """A CSV file of the same kind of rows, about 200 bytes each."""
    import pyarrow.csv
    import pyarrow.parquet

    make_files(DATA / str(CSV_ROWS), CSV_ROWS)
    path = DATA / f"{CSV_ROWS}.csv"
    if not path.exists():
        rows = pyarrow.parquet.read_table(DATA / str(CSV_ROWS), columns=FEATURES)
        pyarrow.csv.write_csv(rows, path)
    return path


def parquet(method: str, n_jobs: int = 2) -> Pair:
    """Counting Parquet files, and a scan of the same columns."""
    from poscount.engines import count

    folder, model = parquet_folder(), fitted(method)
    return Pair(lambda: scan(model, folder), lambda: count(model, folder, n_jobs=n_jobs))


def csv(method: str) -> Pair:
    """Counting a CSV file, and Arrow's parse of it, which uses all cores."""
    import pyarrow.csv

    from poscount.engines import count

    path, model = csv_file(), fitted(method)
    return Pair(lambda: pyarrow.csv.read_csv(path).num_rows, lambda: count(model, path, n_jobs=2))


MEMORY = """
from pathlib import Path
import pyarrow.csv
from benchmarks.speed.engines import fitted, peak_megabytes, scan
from poscount.engines import count
path, model = Path({path!r}), fitted("rcq")
count(model, Path({first!r}), n_jobs=2)
before = peak_megabytes()
if {counting}:
    count(model, path, n_jobs=2)
elif path.is_dir():
    scan(model, path)
else:
    for batch in pyarrow.csv.open_csv(path):
        pass
print(max(peak_megabytes() - before, 0.1))
"""


def memory(kind: str) -> Pair:
    """Megabytes that counting adds to a process that has counted before, and that a scan adds."""
    path = parquet_folder() if kind == "Parquet" else csv_file()
    # Libraries are loaded, and buffers made, by counting a small file.
    make_files(DATA / "1000", 1000)

    def megabytes(counting: bool) -> float:
        script = MEMORY.format(path=str(path), first=str(DATA / "1000"), counting=counting)
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
        )
        return float(done.stdout)

    return Pair(lambda: megabytes(False), lambda: megabytes(True))


def words(method: str) -> Pair:
    """Counting a million rows of ten numbers and ten words from Parquet, and of twenty numbers."""
    import pyarrow as pa
    import pyarrow.parquet

    from poscount import registry
    from poscount.engines import count

    rng = np.random.default_rng(0)
    numbers = {f"x{j}": rng.normal(size=CSV_ROWS) for j in range(20)}
    letters = np.array(list("abcde"))
    mixed = {f"x{j}": numbers[f"x{j}"] for j in range(10)}
    mixed |= {f"word{j}": letters[rng.integers(5, size=CSV_ROWS)] for j in range(10)}
    tasks = []
    for i, columns in enumerate((numbers, mixed)):
        table, path = pa.table(columns), DATA / f"words-{i}.parquet"
        DATA.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(table, path)
        model = registry.method(method)(random_state=0).fit(table[:1000])
        tasks.append(functools.partial(count, model, path, n_jobs=1))
    return Pair(*tasks)


def figure(name: str, prepare: Any, **more: Any) -> Figure:
    return Figure(name, prepare, **{"turns": 7, **more})


FIGURES = [
    *(
        figure(
            f"files: {name} from Parquet / scan, 2 cores",
            functools.partial(parquet, name),
            ratio_at_most=2.0,
        )
        for name in ("pat", "rcq")
    ),
    *(
        figure(
            f"files: {name} from CSV / Arrow's parse, 2 cores",
            functools.partial(csv, name),
            ratio_at_most=2.0,
        )
        for name in ("pat", "rcq")
    ),
    *(
        figure(
            f"files: {name} with 10 words / 20 numbers, 1 thread",
            functools.partial(words, name),
            turns=5,
        )
        for name in ("pat", "rcq")
    ),
    *(
        figure(
            f"files: memory of rcq from {kind} / scan in batches",
            functools.partial(memory, kind),
            unit="MB",
            turns=2,
            warm=False,
        )
        for kind in ("Parquet", "CSV")
    ),
]
