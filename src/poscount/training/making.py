"""From nothing to a calibration file, in one call."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import poscount
from poscount.calibration.files import write_calibration
from poscount.training.bank import make_bank, read_bank
from poscount.training.learning import learn
from poscount.training.plan import plan_of_tables, shipped_plan


def make_calibration(
    output: str,
    method: str,
    tables: Sequence[str],
    *,
    label: str,
    n_tasks: int,
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
    tables : sequence of str
        Labelled tables; if empty, the sources of the shipped calibration.
    label : str
        Column of the tables that is the class.
    n_tasks : int
        Tasks to draw from the tables.
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
    plan = plan_of_tables(tables, label, n_tasks) if tables else shipped_plan(method)
    files = make_bank(Path(folder), method, list(plan), seed, n_jobs, verbose)
    made_by = {"poscount": poscount.__version__, "commit": _commit(), "seed": seed}
    calibration = learn(read_bank(files, method), made_by, n_jobs)
    write_calibration(calibration, output)
    return json.loads(calibration.provenance_)


def _commit() -> str | None:
    """Commit of the checkout that this runs from, if it is one."""
    here = str(Path(__file__).parent)
    try:
        found = subprocess.run(
            ["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
