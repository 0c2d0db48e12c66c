"""Cost of counting in every engine, beside a plain scan of the same files.

Run ``python -m benchmarks.speed.engines table|linear [--rows 10000000]``. Every run of an engine
is a process of its own, so that its peak memory is its own; CPU time and memory of the processes
that an engine starts (Dask's workers, Spark's Java and its workers) are watched from outside. With
``--repetitions`` the quickest of several runs counts. The files are made once, in batches, under
``--data``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from poscount import registry
from poscount.engines import count

FEATURES = [f"x{j}" for j in range(20)]
FILE_ROWS = 10**6


def make_files(folder: Path, rows: int, groups: int = 300) -> None:
    """Write rows of 20 float32 features and a group, a million to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"part-{i:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([rows, i])
        n = min(FILE_ROWS, rows - start)
        values = rng.standard_normal((n, len(FEATURES)), dtype=np.float32)
        values[: n * 6 // 10] += 4
        columns = dict(zip(FEATURES, values.T, strict=True))
        table = pa.table({**columns, "night": rng.integers(0, groups, n)})
        pq.write_table(table, folder / "writing")
        os.replace(folder / "writing", path)


def fitted(method: str, n_features: int = 20) -> Any:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2000, n_features), dtype=np.float32)
    names = [f"x{j}" for j in range(n_features)]
    model = registry.method(method)(random_state=0)
    return model.fit(pa.table(dict(zip(names, values.T, strict=True))))


# One engine, in a process of its own


def scan(model: Any, folder: Path) -> None:
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(65536, columns=FEATURES):
                batch.num_rows  # noqa: B018


def in_memory(model: Any, folder: Path) -> Any:
    table = pa.concat_tables(pq.read_table(path, columns=FEATURES) for path in folder.iterdir())
    return model.set_params(n_jobs=-1).count(table)


def with_dask(model: Any, folder: Path) -> Any:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
    ):
        return count(model, dd.read_parquet(str(folder)))


def spark_session() -> Any:
    """A session on two cores of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
        .getOrCreate()
    )


def with_spark(model: Any, folder: Path) -> Any:
    session = spark_session()
    counts = count(model, session.read.parquet(str(folder)))
    session.stop()
    return counts


def with_duckdb(model: Any, folder: Path) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        return count(model, (connection, f"FROM '{folder}/*.parquet'"))


ENGINES: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow scan, nothing counted": scan,
    "memory": in_memory,
    "files, 1 thread": lambda model, folder: count(model, folder, n_jobs=1),
    "files, 2 threads": lambda model, folder: count(model, folder, n_jobs=2),
    "files, 300 groups": lambda model, folder: count(model, folder, by="night", n_jobs=2),
    "DuckDB": with_duckdb,
    "Dask, 2 workers": with_dask,
    "Spark, local[2]": with_spark,
}
CLUSTERS = ("Dask, 2 workers", "Spark, local[2]")


class Children(threading.Thread):
    """CPU time and memory of all processes below this one, looked at ten times a second.

    Not getrusage: it knows only children that were waited for, and Spark's workers are not ours.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seconds: dict[int, float] = {}
        self.peak_megabytes = 0.0
        self.done = threading.Event()
        self.start()

    def run(self) -> None:
        """Look until told to stop."""
        while not self.done.wait(0.1):
            together = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    times = process.cpu_times()
                    # Forked workers share pages with their parent: count what is their own.
                    together += process.memory_full_info().uss
                except psutil.Error:
                    continue
                self.seconds[process.pid] = times.user + times.system
            self.peak_megabytes = max(self.peak_megabytes, together / 2**20)

    def stop(self) -> tuple[float, float]:
        """CPU seconds of all of them, and the most megabytes that they had at once."""
        self.done.set()
        self.join()
        return sum(self.seconds.values()), self.peak_megabytes


def peak_megabytes() -> float:
    # Not ru_maxrss, which a process inherits from the one that started it.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def run_one(engine: str, method: str, folder: Path) -> None:
    model = fitted(method)
    # Looking costs the watched process time, so only where there is something to see.
    watched = Children() if engine in CLUSTERS else None
    cpu, wall = time.process_time(), time.perf_counter()
    counts = ENGINES[engine](model, folder)
    wall = time.perf_counter() - wall
    children_cpu, children_peak = watched.stop() if watched else (0.0, 0.0)
    told = {
        "cpu": time.process_time() - cpu + children_cpu,
        "wall": wall,
        "peak": peak_megabytes(),
        "children": children_peak,
    }
    if counts is not None:
        cells = np.atleast_2d(counts.cells).sum(axis=0)
        told["cells"] = hashlib.sha256(cells.tobytes()).hexdigest()[:8]
        told["rows"] = int(np.sum(counts.n))
    print(json.dumps(told))


def measured(engine: str, method: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "one", "--data", str(folder)]
    command += ["--engine", engine, "--methods", method]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def quickest(
    engines: list[str], method: str, folder: Path, repetitions: int
) -> dict[str, dict[str, Any]]:
    """Run the engines in turns; keep the quickest run of each, and insist on equal counts."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(repetitions):
        for engine in engines:
            told = measured(engine, method, folder)
            before = best.setdefault(engine, told)
            if told.get("cells") != before.get("cells"):
                raise SystemExit(f"{engine}: two runs have different counts.")
            if told["wall"] < before["wall"]:
                best[engine] = told
    return best


# The tables


def table(
    folder: Path, rows: int, methods: list[str], repetitions: int, engines: list[str]
) -> None:
    make_files(folder / str(rows), rows)
    print(f"{rows} rows x {len(FEATURES)} float32 features")
    print("| engine | method | wall s | of the scan | CPU s | MB | MB of its children | counts |")
    print("|---|---|---|---|---|---|---|---|")
    for method in methods:
        best = quickest(engines, method, folder / str(rows), repetitions)
        plain = best[engines[0]]["wall"]
        for engine, told in best.items():
            print(
                f"| {engine} | {method} | {told['wall']:.2f} | {told['wall'] / plain:.2f} | "
                f"{told['cpu']:.2f} | {told['peak']:.0f} | {told['children']:.0f} | "
                f"{told.get('cells', '')} |",
                flush=True,
            )


def linear(folder: Path, rows: int, methods: list[str], repetitions: int) -> None:
    scan_engine, engine = "pyarrow scan, nothing counted", "files, 2 threads"
    print("| rows | method | wall s | CPU s | microseconds CPU a row | MB | scan, wall s |")
    print("|---|---|---|---|---|---|---|")
    n = 10**5
    while n <= rows:
        make_files(folder / str(n), n)
        for method in methods:
            best = quickest([scan_engine, engine], method, folder / str(n), repetitions)
            told = best[engine]
            print(
                f"| {n} | {method} | {told['wall']:.2f} | {told['cpu']:.2f} | "
                f"{1e6 * told['cpu'] / n:.3f} | {told['peak']:.0f} | "
                f"{best[scan_engine]['wall']:.2f} |",
                flush=True,
            )
        n *= 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["table", "linear", "one"])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--methods", nargs="+", default=["pat"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "poscount-rows")
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES))
    asked = parser.parse_args()
    if asked.what == "one":
        run_one(asked.engine[0], asked.methods[0], asked.data)
    elif asked.what == "table":
        table(asked.data, asked.rows, asked.methods, asked.repetitions, asked.engine)
    else:
        linear(asked.data, asked.rows, asked.methods, asked.repetitions)


if __name__ == "__main__":
    main()
