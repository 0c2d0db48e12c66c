"""Making a calibration file from labelled tables, in one call."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import poscount
from poscount.calibration.files import write_calibration
from poscount.training.bank import Family, make_bank, read_bank
from poscount.training.learning import learn
from poscount.training.sources import Source, read_table


def plan_of_tables(
    paths: Iterable[str], label: str, n_tasks: int
) -> Iterator[tuple[Source | Family | str, int]]:
    """Sources and numbers of tasks of a bank from tables of one's own.

    A quarter as many synthetic tasks are added, for what the tables do not show.
    """
    tables = [read_table(path, label) for path in paths]
    for table in tables:
        yield table, math.ceil(n_tasks / len(tables))
    yield "mixture", math.ceil(n_tasks / 4)


def make_calibration(
    output: str,
    method: str,
    plan: Iterable[tuple[Source | Family | str, int]],
    *,
    folder: str,
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Make a bank, or what is missing of it, and learn a calibration from it.

    Parameters
    ----------
    output : str
        Calibration file to write.
    method : str
        A key of `poscount.training.bank.COLUMNS`.
    plan : iterable of tuple
        Sources, or names of synthetic families, each with its number of tasks: `plan_of_tables`.
    folder : str
        Of the bank.
    seed : int
    n_jobs, verbose
        As in joblib.

    Returns
    -------
    dict
        The provenance: what it was made from, and how well it does on sources that were left out.
    """
    files = make_bank(Path(folder), method, list(plan), seed, n_jobs, verbose)
    made_by = {"poscount": poscount.__version__, "commit": commit(), "seed": seed}
    calibration = learn(read_bank(files, method), made_by, n_jobs)
    write_calibration(calibration, output)
    return json.loads(calibration.provenance_)


def commit() -> str | None:
    """Commit of the checkout that this runs from, if it is one."""
    here = str(Path(__file__).parent)
    try:
        found = subprocess.run(
            ["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
