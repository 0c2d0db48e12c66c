"""The assumption report of an estimate, made after its answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from poscount import registry, workflows
from poscount.web import recipes
from poscount.workflows import CsvFormat

# Of a table in memory: more rows would not tell more, but take long.
_MOST_CELLS = 5_000_000


def check_assumptions(
    task: dict[str, Any], report_step: Callable[[str, float | None], None]
) -> dict[str, Any]:
    """Check the assumptions of an estimate by its model file, and write the report."""
    folder = Path(task["directory"])
    report_step("reading the rows again", None)
    model = registry.load(folder / "model.poscount")
    most = max(10_000, _MOST_CELLS // len(model.feature_names_in_))
    diagnosis, n_used, n_rows = workflows.diagnose(
        model,
        task["data"],
        positives=task["positives"],
        most_rows=most,
        csv_format=CsvFormat(**task["layout"]),
        on_read=lambda: report_step("checking the assumptions", None),
    )
    diagnosis.to_html(folder / "diagnosis.html")
    seen = f"all {n_rows:,} unlabeled rows together"
    if n_used < n_rows:
        seen = f"{n_used:,} of the {n_rows:,} unlabeled rows, drawn at random"
    about = diagnosis.to_dict()
    findings = [
        {**told, "figures": finding.figures}
        for told, finding in zip(about["findings"], diagnosis.findings, strict=True)
    ]
    return {
        "rows": f"Looked at: {seen}.",
        "findings": findings,
        "unchecked": [{**told, "reason": _reason(told["reason"])} for told in about["unchecked"]],
        "command": recipes.diagnosing(task),
    }


def _reason(reason: str) -> str:
    """Say in the words of the page what is missing.

    Examples
    --------
    >>> _reason("give a second sample (reference=, --reference).")
    'give a second sample (--reference of the command poscount diagnose).'
    """
    return re.sub(r"\(\w+=, (--\w+)\)", r"(\1 of the command poscount diagnose)", reason)
