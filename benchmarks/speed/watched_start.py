"""Figures of starting: commands of a new process beside an import of scikit-learn's base."""

from __future__ import annotations

import functools
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.speed.engines import FEATURES, fitted
from benchmarks.speed.watch import Figure, Pair

ROWS = 10_000
COMMAND = "from poscount.cli import main\nmain()"


def cpu_of(*command: str) -> float:
    """CPU seconds of a new Python process, which are steadier than those of the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quantify(method: str, suffix: str) -> Pair:
    """`poscount quantify` with a model from a file, and the import."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    folder = Path(tempfile.mkdtemp(prefix="poscount-start-"))
    model, data = folder / "model.poscount", folder / f"trap.{suffix}"
    fitted(method).save(model)
    values = np.random.default_rng(0).standard_normal((ROWS, len(FEATURES)))
    table = pa.table(dict(zip(FEATURES, values.T, strict=True)))
    if suffix == "csv":
        pyarrow.csv.write_csv(table, data)
    else:
        pyarrow.parquet.write_table(table, data)
    return beside_import("quantify", str(model), str(data))


def beside_import(*arguments: str) -> Pair:
    """A command, and the import."""
    return Pair(
        lambda: cpu_of("-c", "import sklearn.base"), lambda: cpu_of("-c", COMMAND, *arguments)
    )


FIGURES = [
    *(
        Figure(
            f"start: quantify {method}, 10^4 rows of {suffix} / import sklearn.base",
            functools.partial(quantify, method, suffix),
            ratio_at_most=1.2,
            turns=6,
        )
        for method in ("pat", "rcq")
        for suffix in ("parquet", "csv")
    ),
    Figure(
        "start: --help / import sklearn.base",
        functools.partial(beside_import, "--help"),
        ratio_at_most=0.5,
        turns=6,
    ),
]
