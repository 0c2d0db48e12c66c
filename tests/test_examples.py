"""Every script in examples/ runs, as a user would run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"duckdb_table": "duckdb", "dask_cluster": "distributed", "spark_frame": "pyspark"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, unavailable):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    if path.stem == "spark_frame" and shutil.which("java") is None:
        unavailable("Spark needs a Java runtime, version 17")
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_there_is_an_example_of_every_engine():
    names = {path.stem.partition("_")[0] for path in EXAMPLES}
    assert {"parquet", "duckdb", "dask", "spark", "stream"} <= names
