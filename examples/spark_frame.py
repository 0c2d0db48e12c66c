"""Count a Spark data frame: only the small model travels to the workers."""

import os
import sys
import tempfile

import pyarrow.parquet
from pyspark.sql import SparkSession

from poscount import PAT
from poscount.engines import count
from poscount.example import load_example


def main() -> None:
    positives, trap, _ = load_example("pyarrow")
    model = PAT(random_state=0).fit(positives)
    # The workers need a Python that has poscount installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        pyarrow.parquet.write_table(trap, f"{folder}/trap.parquet")
        rows = session.read.parquet(f"{folder}/trap.parquet")
        counts = count(model, rows)
        by_night = count(model, rows, by="night")
    session.stop()
    print(model.estimate(counts))
    assert counts == model.count(trap)
    for (night,), p in zip(by_night.keys, model.estimate_by(by_night), strict=True):
        print(f"{night}: {p:.3f}")


if __name__ == "__main__":
    main()
