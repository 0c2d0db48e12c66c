"""Results in Parquet files that are small enough for the repository, and back again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from research.experiments.store import Store, read_about

DECIMALS = 6  # of shares: a ten-thousandth of a point
_SHARES = ["estimate", "low", "high"]
_ORDER = ["dataset", "negative", "repetition", "fold", "point", "method"]


def export(results: str | Path, folder: str | Path) -> list[Path]:
    """Write the evaluations of a results file, a Parquet file for each experiment.

    Shares are rounded to six decimals. Seconds are kept for Experiment #4 alone, and curves for the
    oracle and for PAT in Experiment #1, because nothing else is read again.

    Returns
    -------
    list of Path
        The files; `restore` makes a results file of them.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    with closing(
        sqlite3.connect(f"{Path(results).resolve().as_uri()}?mode=ro", uri=True)
    ) as source:
        read_about(source, Path(results))
        for name in ("about", "runs", "datasets"):
            frame = pd.read_sql_query(f"SELECT * FROM {name}", source)
            frame.to_csv(target / f"{name}.csv", index=False, lineterminator="\n")
        experiments = source.execute("SELECT DISTINCT experiment FROM evaluations").fetchall()
        for (experiment,) in sorted(experiments):
            query = "SELECT * FROM evaluations WHERE experiment = ?"
            frame = pd.read_sql_query(query, source, params=[experiment])
            written.append(target / f"{experiment}.parquet")
            table = _packed(frame.sort_values(_ORDER), experiment)
            pq.write_table(table, written[-1], compression="zstd", compression_level=19)
    return written


def restore(folder: str | Path, results: str | Path) -> int:
    """Make a results file of exported evaluations, to be reported or completed.

    Returns
    -------
    int
        Number of evaluations.
    """
    source = Path(folder)
    if Path(results).exists():
        raise FileExistsError(17, "There is a results file already", str(results))
    about = pd.read_csv(source / "about.csv", dtype=str).set_index("key")["value"]
    with Store(results, int(about["seed"])) as store:
        for name in ("runs", "datasets"):
            rows = pd.read_csv(source / f"{name}.csv", keep_default_na=False)
            store.fill(name, rows.itertuples(index=False, name=None))
        for path in sorted(source.glob("*.parquet")):
            frame = pq.read_table(path).to_pandas()
            frame["curve"] = [None if c is None else _curve(c) for c in frame["curve"]]
            plain = frame.astype(object).where(frame.notna(), None)
            store.fill("evaluations", plain.itertuples(index=False, name=None))
        return store.count()


def _packed(frame: pd.DataFrame, experiment: str) -> pa.Table:
    frame[_SHARES] = frame[_SHARES].astype(float).round(DECIMALS)
    if experiment != "4":
        frame[["fit_seconds", "seconds"]] = None
    read_again = (frame["method"] == "bft") | ((experiment == "1") & frame["method"].eq("pat"))
    curves = frame["curve"].where(read_again, None)
    table = pa.Table.from_pandas(frame.drop(columns="curve"), preserve_index=False)
    # Differences of whole numbers take a third of the space of the shares themselves.
    steps = [None if c is None else _steps(c) for c in curves]
    place = list(frame.columns).index("curve")
    return table.add_column(place, "curve", pa.array(steps, pa.list_(pa.int32())))


def _steps(curve: bytes) -> np.ndarray:
    whole = np.round(np.frombuffer(curve, dtype="<f8") * 10**DECIMALS).astype(np.int32)
    return np.diff(whole, prepend=0)


def _curve(steps: np.ndarray) -> bytes:
    return (np.cumsum(steps) / 10**DECIMALS).astype("<f8").tobytes()
