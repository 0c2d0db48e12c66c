"""Counting on Dask: on threads, and on a cluster of two processes of which one is killed."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from poscount import InputError
from poscount.engines import count
from poscount.engines.dask import _on_worker

dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
dataframe = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def threads():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture
def frame(trap):
    return trap.to_pandas()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("n_partitions", [1, 20])
def test_dataframes(counting, frame, n_partitions):
    rows = dataframe.from_pandas(frame, npartitions=n_partitions)
    assert count(counting, rows) == counting.count(frame)
    for by in ("night", ["site", "night"], "at"):
        assert count(counting, rows, by=by) == counting.count_by(frame, by)


@pytest.mark.usefixtures("threads")
def test_missing_groups_and_periods(named_pat, dated):
    rows = dataframe.from_pandas(dated.to_pandas(), npartitions=3)
    for by in ("night", ["night", "month(day)"], ["week(when)", "hour(when)"]):
        assert count(named_pat, rows, by=by) == named_pat.count_by(dated, by)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("chunks", [(400, 3), (17, 3), (100, 2), (50, 1)])
def test_arrays(pat, sample, chunks):
    assert count(pat, array.from_array(sample, chunks)) == pat.count(sample)
    with pytest.raises(TypeError, match="not an array"):
        count(pat, array.from_array(sample, chunks), by="night")


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("weights", ["times", "weight"])
def test_weights(named_pat, weighted_trap, weights, tmp_path):
    table = weighted_trap
    rows = dataframe.from_pandas(table.to_pandas(), npartitions=7)
    assert count(named_pat, rows, weights=weights) == named_pat.count(table, weights=weights)
    expected = named_pat.count_by(table, "night", weights=weights)
    assert count(named_pat, rows, by="night", weights=weights) == expected
    for i in range(3):
        pq.write_table(table.slice(1000 * i, 1000), tmp_path / f"{i}.parquet")
    assert count(named_pat, tmp_path, by="night", weights=weights, engine="dask") == expected


@pytest.mark.usefixtures("threads")
def test_arrays_have_no_column_of_weights(named_pat, sample):
    with pytest.raises(TypeError, match="A column of weights needs a dataframe"):
        count(named_pat, array.from_array(sample, (50, 3)), weights="w")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # what Dask does to pandas
@pytest.mark.usefixtures("threads")
def test_partitioned_parquet_of_dask(named_pat, frame, tmp_path):
    rows = dataframe.from_pandas(frame, npartitions=3)
    rows.to_parquet(tmp_path, partition_on=["night"], write_index=False)
    expected = named_pat.count_by(frame, "night")
    assert count(named_pat, dataframe.read_parquet(tmp_path), by="night") == expected
    assert count(named_pat, tmp_path, by="night") == expected
    assert count(named_pat, tmp_path, by="night", engine="dask") == expected


@pytest.mark.usefixtures("threads")
def test_files_on_workers(named_pat, trap, tmp_path):
    for i in range(20):
        pq.write_table(trap.slice(i * 150, 150), tmp_path / f"{i:02}.parquet")
    assert count(named_pat, tmp_path, engine="dask") == named_pat.count(trap)
    expected = named_pat.count_by(trap, "site")
    assert count(named_pat, tmp_path, engine="dask", by="site") == expected
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"broken\.parquet: this is not Parquet"):
        count(named_pat, tmp_path, engine="dask")


@pytest.mark.usefixtures("threads")
def test_errors_name_the_partition_and_the_column(named_pat, frame):
    spoilt = frame.copy()
    spoilt.loc[1700, "b"] = np.inf
    rows = dataframe.from_pandas(spoilt, npartitions=3)
    with pytest.raises(InputError, match="partition 1: column 'b', row 701: infinity"):
        count(named_pat, rows)
    with pytest.raises(InputError, match="the Dask dataframe: column 'c'"):
        count(named_pat, rows[["a", "b"]])


def test_another_version_says_so(named_pat, frame):
    with pytest.raises(ImportError, match=r"A worker of Dask has poscount .*, but 9\.9 sent it"):
        _on_worker("9.9", named_pat.count, frame)


def test_cluster_of_processes(named_pat, frame, cluster):
    rows = dataframe.from_pandas(frame, npartitions=9)
    assert count(named_pat, rows, by="night") == named_pat.count_by(frame, "night")
    assert count(named_pat, rows) == named_pat.count(frame)


def test_an_error_comes_back_from_another_process(named_pat, frame, cluster):
    spoilt = frame.assign(a=np.where(np.arange(len(frame)) == 5, np.inf, frame["a"]))
    with pytest.raises(InputError, match="partition 0: column 'a', row 6: infinity"):
        count(named_pat, dataframe.from_pandas(spoilt, npartitions=4))


def slow_part(i, frame, folder):
    """A partition that takes its time, and leaves a note of the process that made it."""
    with open(os.path.join(folder, f"{os.getpid()}-{i}-{time.time_ns()}"), "w"):
        pass
    time.sleep(0.15)
    return frame.iloc[i * 100 : (i + 1) * 100]


def kill_when_busy(victim, notes):
    """Kill a process once it has done some of the work."""
    for _ in range(1000):
        if sum(name.startswith(f"{victim}-") for name in os.listdir(notes)) >= 4:
            os.kill(victim, signal.SIGKILL)
            return
        time.sleep(0.02)


def test_a_killed_worker_changes_nothing(named_pat, frame, cluster, tmp_path):
    rows = dataframe.from_map(
        slow_part, range(30), frame=frame, folder=str(tmp_path), meta=frame.iloc[:0]
    )
    victim = next(iter(cluster.run(os.getpid).values()))
    killer = threading.Thread(target=kill_when_busy, args=(victim, tmp_path))
    killer.start()
    counts = count(named_pat, rows)
    killer.join()
    assert counts == named_pat.count(frame)
    workers = [int(name.split("-")[0]) for name in os.listdir(tmp_path)]
    assert workers.count(victim) >= 4
    # What the victim had done is lost, and was done again.
    assert len(workers) > 30
    cluster.wait_for_workers(2)
    assert victim not in cluster.run(os.getpid).values()


def test_categories_of_pandas(named_pat, frame):
    frame["night"] = pd.Categorical(frame["night"], ["wed", "tue", "mon", "never"])
    expected = {key: counts.n for key, counts in named_pat.count_by(frame, "night").items()}
    rows = dataframe.from_pandas(frame, npartitions=4)
    found = count(named_pat, rows, by="night")
    assert {key: counts.n for key, counts in found.items()} == expected
    assert found.keys == [("mon",), ("tue",), ("wed",)]
