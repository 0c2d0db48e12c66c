"""Counting on Spark: one local session with two workers, because starting it takes long."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import poscount
from hospital import FEATURES, register
from poscount import RCQ, InputError
from poscount.base.counting import BatchCounter
from poscount.engines import count
from poscount.engines import spark as spark_engine

pytest.importorskip("pyspark")

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def spark(unavailable):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        unavailable("Spark needs a Java runtime, version 17")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark, trap, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "trap.parquet"
    pq.write_table(trap.drop_columns("at"), path)
    return spark.read.parquet(str(path)).repartition(3).cache()


def test_frames(counting, frame, trap):
    assert count(counting, frame) == counting.count(trap)


def test_groups(counting, frame, trap):
    by = ["site", "night"]
    assert count(counting, frame, by=by) == counting.count_by(trap, by)


@pytest.mark.parametrize("weights", ["times", "weight"])
def test_weights(named_pat, spark, weighted_trap, weights, tmp_path):
    table = weighted_trap.drop_columns("at")
    for i in range(3):
        pq.write_table(table.slice(1000 * i, 1000), tmp_path / f"{i}.parquet")
    frame = spark.read.parquet(str(tmp_path)).repartition(3)
    assert count(named_pat, frame, weights=weights) == named_pat.count(table, weights=weights)
    expected = named_pat.count_by(table, "night", weights=weights)
    assert count(named_pat, frame, by="night", weights=weights) == expected
    assert count(named_pat, tmp_path, by="night", weights=weights, engine="spark") == expected


def test_words_booleans_gaps_and_dates(spark, tmp_path):
    positives, sample = (
        register(np.random.default_rng(seed), 300, n_negatives)
        for seed, n_negatives in enumerate((0, 500))
    )
    model = RCQ(random_state=0).fit(positives, features=FEATURES)
    # A column that groups are made by is no feature.
    others = [name for name in FEATURES if name not in ("ward", "smokes")]
    grouped = RCQ(random_state=0).fit(positives, features=others)
    pq.write_table(sample, tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path)).repartition(3)
    for source, options in ((frame, {}), (tmp_path, {"engine": "spark"})):
        assert count(model, source, **options) == model.count(sample)
        for by in ("ward", ["smokes", "week(visit)"]):
            assert count(grouped, source, by=by, **options) == grouped.count_by(sample, by)


def test_large_weights_are_added_exactly(named_pat, spark, weighted_trap):
    rng = np.random.default_rng(0)
    table = weighted_trap.select(["a", "b", "c"]).slice(0, 300)
    table = table.append_column("w", [rng.uniform(2**31, 2**32, 300)])
    frame = spark.createDataFrame(table.to_pandas()).repartition(4)
    found = count(named_pat, frame, weights="w")
    assert found == named_pat.count(table, weights="w")
    assert found.weights.squares > 2.0**63
    with pytest.raises(InputError, match=r"column 'w', row .*: the weight is -"):
        count(named_pat, frame.selectExpr("a", "b", "c", "-w as w"), weights="w")


def test_no_rows_with_weights(named_pat, spark, weighted_trap):
    frame = spark.createDataFrame(weighted_trap.drop_columns("at").to_pandas()).where("false")
    nothing = named_pat.count(weighted_trap.slice(0, 0), weights="weight")
    assert count(named_pat, frame, weights="weight") == nothing
    assert len(count(named_pat, frame, by="night", weights="weight")) == 0


def test_kinds_of_groups_and_odd_names(named_pat, spark, trap):
    from pyspark.sql import functions as f

    rows = spark.createDataFrame(trap.select(["a", "b", "c", "site"]).slice(0, 500).to_pandas())
    odd = rows.select(
        "a",
        "b",
        "c",
        f.expr("date_add(DATE '2026-11-01', int(site))").alias("a.day"),
        (f.col("site") % 2 == 0).alias("cell"),
        (f.col("site") / 4).alias("n"),
    )
    table = pa.table(odd.toArrow())
    for by in (["a.day"], ["cell", "n"]):
        assert count(named_pat, odd, by=by) == named_pat.count_by(table, by)


def test_missing_groups_and_periods(named_pat, spark, dated):
    table = dated.slice(0, 500)
    rows = spark.createDataFrame(table.to_pandas())
    for by in ("night", ["night", "month(day)"], ["week(when)", "hour(when)"]):
        assert count(named_pat, rows, by=by) == named_pat.count_by(table, by)
    with pytest.raises(InputError, match=r"partition .*column 'night'.*is not a date"):
        count(named_pat, rows, by="month(night)")


def test_no_rows(named_pat, frame, trap):
    nothing = frame.where("false")
    assert count(named_pat, nothing) == named_pat.count(trap.slice(0, 0))
    assert len(count(named_pat, nothing, by="night")) == 0


def test_errors_are_one_sentence(named_pat, spark, frame):
    with pytest.raises(InputError, match="the Spark data frame: column 'b'"):
        count(named_pat, frame.drop("b"))
    rows = pd.DataFrame({"a": [1.0] * 9, "b": [2.0] * 8 + [np.inf], "c": [3.0] * 9, "g": ["x"] * 9})
    spoilt = spark.createDataFrame(rows).coalesce(1)
    for by in (None, "g"):
        with pytest.raises(InputError) as caught:
            count(named_pat, spoilt, by=by)
        assert str(caught.value).startswith("partition 0: column 'b', row 9: infinity")
    words = frame.withColumn("a", frame["a"].cast("string"))
    with pytest.raises(InputError, match="'a': it holds words here, but held numbers"):
        count(named_pat, words)


def test_files_on_workers(named_pat, spark, trap, tmp_path):
    for i in range(4):
        pq.write_table(trap.slice(i * 750, 750), tmp_path / f"{i:02}.parquet")
    assert count(named_pat, tmp_path, engine="spark") == named_pat.count(trap)
    expected = named_pat.count_by(trap, "site")
    assert count(named_pat, tmp_path, engine="spark", by="site") == expected
    broken = [f"{tmp_path}/broken {i}.parquet" for i in range(5)]
    for path in broken:
        Path(path).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"broken 0\.parquet: this is not Parquet"):
        count(named_pat, tmp_path, engine="spark", by="site")


def test_a_worker_with_another_version_says_so(named_pat, frame, monkeypatch):
    # The workers are processes of their own, with the poscount of this checkout.
    monkeypatch.setattr(spark_engine, "__version__", "9.9")
    has = f"A worker of Spark has poscount {poscount.__version__}, but 9.9 sent it work"
    for by in (None, "night"):
        with pytest.raises(ImportError) as caught:
            count(named_pat, frame, by=by)
        assert str(caught.value) == f"{has}: install poscount 9.9 on every worker."


def test_a_worker_without_poscount_says_so(named_pat, tmp_path):
    from pyspark import cloudpickle

    task = spark_engine._task("count_partition", BatchCounter(named_pat, "g"), list("abcg"))
    (tmp_path / "task").write_bytes(cloudpickle.dumps(task))
    script = f"""
        import pickle, sys
        sys.modules["poscount"] = None
        import pyarrow as pa
        from pyspark import cloudpickle
        task = pickle.loads(open({str(tmp_path / "task")!r}, "rb").read())
        batch = pa.RecordBatch.from_pydict({{"a": [1.0], "b": [1.0], "c": [1.0], "g": ["x"]}})
        (told,) = task(iter([batch]))
        assert told.schema.names == ["counts", "problem"], told.schema
        print(pickle.loads(told["problem"][0].as_py()))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"install poscount {poscount.__version__} on every worker." in done.stdout


def test_ten_thousand_groups(named_pat, spark, trap):
    rows = pd.concat([trap.select(["a", "b", "c"]).to_pandas()] * 7, ignore_index=True)
    rows["g"] = np.random.default_rng(0).integers(0, 10_000, len(rows))
    found = count(named_pat, spark.createDataFrame(rows), by="g")
    assert found == named_pat.count_by(rows, "g")
