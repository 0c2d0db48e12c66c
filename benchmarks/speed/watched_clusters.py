"""Figures of Dask and Spark on this machine: what a row costs there, and what starting them does.

A row's cost is the CPU time of all processes together, divided by that of the file engine for the
same files; both use two cores. The cluster is there already and has counted once, so that starting
it is in other figures.

    python -m benchmarks.speed.watched_clusters

prints from how many rows on a cluster is quicker than one machine, by the last figures in the
history: the start of a cluster (S), what a row costs there (r) and in the file engine (t).
"""

from __future__ import annotations

import atexit
import functools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.speed.engines import FEATURES, fitted, make_files, spark_session
from benchmarks.speed.watch import HISTORY, Figure, Pair, latest, read_history
from benchmarks.speed.watched_files import DATA, ROWS, parquet_folder

CORES = (8, 32, 128)
ONE_MACHINE = 2


def cpu_seconds(task: Callable[[], object]) -> float:
    """CPU time that this process and all below it spend on a task."""
    before = _all_cpu()
    task()
    return _all_cpu() - before


def _all_cpu() -> float:
    seconds = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        seconds += times.user + times.system
        if process.pid != os.getpid():
            # Workers that have ended are counted with who started them.
            seconds += times.children_user + times.children_system
    return seconds


def start_dask() -> None:
    """Two workers with a thread each."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    client = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(client.close)


def start_spark() -> None:
    """A session on two cores."""
    atexit.register(spark_session().stop)


def frame_of(cluster: str, folder: Path) -> Any:
    """The rows of files as a collection of a cluster."""
    if cluster == "Dask":
        import dask.dataframe

        return dask.dataframe.read_parquet(str(folder))
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession().read.parquet(str(folder))


START = {"Dask": start_dask, "Spark": start_spark}


def per_row(cluster: str, what: str) -> Pair:
    """CPU time of counting files, or a frame that reads them, and of the file engine."""
    from poscount.engines import count

    folder, model = parquet_folder(), fitted("pat")
    START[cluster]()

    def on_cluster() -> object:
        if what == "files":
            return count(model, folder, engine=cluster.lower())
        return count(model, frame_of(cluster, folder))

    return Pair(
        lambda: cpu_seconds(lambda: count(model, folder, n_jobs=2)),
        lambda: cpu_seconds(on_cluster),
    )


def beside_counting_rows() -> Pair:
    """CPU time of counting a frame of Spark, and of a function there that only counts its rows.

    What that one takes, Spark needs to bring rows to Python; nothing that we do can take less.
    """
    from poscount.engines import count

    folder, model = parquet_folder(), fitted("pat")
    start_spark()

    def count_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        n_rows = sum(batch.num_rows for batch in batches)
        yield pyarrow.RecordBatch.from_pydict({"n": [n_rows]})

    def only_rows() -> object:
        rows = frame_of("Spark", folder).select(FEATURES)
        return rows.mapInArrow(count_rows, "n long").toArrow()

    return Pair(
        lambda: cpu_seconds(only_rows),
        lambda: cpu_seconds(lambda: count(model, frame_of("Spark", folder))),
    )


def starting(cluster: str) -> Pair:
    """Start a cluster and count a thousand rows; the file engine's time for the large files."""
    from poscount.engines import count

    folder, model = parquet_folder(), fitted("pat")
    make_files(DATA / "1000", 1000)
    first: list[float] = []

    def start() -> float:
        # It can be started once in a process, so that all turns have this time.
        if not first:
            began = time.perf_counter()
            START[cluster]()
            count(model, DATA / "1000", engine=cluster.lower())
            first.append(time.perf_counter() - began)
        return first[0]

    return Pair(lambda: count(model, folder, n_jobs=2), start)


FIGURES = [
    *(
        Figure(
            f"clusters: a row of {what} on {cluster} / file engine, CPU",
            functools.partial(per_row, cluster, what),
            ratio_at_most=3.0,
            turns=3,
        )
        for cluster in START
        for what in ("files", "a frame")
    ),
    Figure(
        "clusters: a row of a frame on Spark / mapInArrow that only counts rows, CPU",
        beside_counting_rows,
        ratio_at_most=1.5,
        turns=3,
    ),
    *(
        Figure(
            f"clusters: start of {cluster} and 1,000 rows / file engine, 3 x 10^6 rows",
            functools.partial(starting, cluster),
            turns=3,
        )
        for cluster in START
    ),
]


def break_even(start: float, per_row: float, ratio: float, cores: int) -> float:
    """Rows from which on the cluster is quicker; infinity if it never is.

    Examples
    --------
    >>> break_even(10.0, 1e-7, 2.0, 8)
    200000000.0
    """
    gain = 1 - ratio * ONE_MACHINE / cores
    return start / (per_row * gain) if gain > 0 else float("inf")


def main() -> None:
    """Print the table of benchmarks/results/speed.md, a line for each way to count on a cluster."""
    found = latest(read_history(HISTORY))
    heads = ["engine", "start, s", "CPU of a row, ratio", *(f"{cores} cores" for cores in CORES)]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for cluster in START:
        started = next(of for name, of in found.items() if f"start of {cluster}" in name)
        per_row = started["baseline"] / ROWS
        for what in ("files", "a frame"):
            row = next(of for name, of in found.items() if f"row of {what} on {cluster}" in name)
            sizes = [break_even(started["candidate"], per_row, row["ratio"], k) for k in CORES]
            cells = [f"{cluster}, {what}", f"{started['candidate']:.0f}", f"{row['ratio']:.1f}"]
            cells += ["never" if size == float("inf") else f"{size:.0e}" for size in sizes]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
