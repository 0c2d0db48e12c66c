"""The assumption report of an estimate, made after its answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from poscount import registry
from poscount.diagnostics import Unchecked, diagnose
from poscount.files.sampling import some_rows
from poscount.web import recipes

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
    options = {"seed": model.seed_, "layout": task["layout"]}
    sample, n_rows = some_rows(model, task["data"], most, **options)
    positives, n_positives = some_rows(model, [task["positives"]], most, **options)
    report_step("checking the assumptions", None)
    # The positives are those of the model, or none.
    known = positives if positives.num_rows == n_positives else None
    diagnosis = diagnose(model, sample, positives=known)
    diagnosis.to_html(folder / "diagnosis.html")
    seen = f"all {n_rows:,} unlabeled rows together"
    if sample.num_rows < n_rows:
        seen = f"{sample.num_rows:,} of the {n_rows:,} unlabeled rows, drawn at random"
    about = diagnosis.to_dict()
    findings = [
        {**told, "figures": finding.figures}
        for told, finding in zip(about["findings"], diagnosis.findings, strict=True)
    ]
    return {
        "rows": f"Looked at: {seen}.",
        "findings": findings,
        "unchecked": [_unchecked(missing) for missing in diagnosis.unchecked],
        "command": recipes.diagnosing(task),
    }


def _unchecked(missing: Unchecked) -> dict[str, str]:
    """Say in the words of the page what is missing."""
    where = f" (--{missing.option} of the command poscount diagnose)" if missing.option else ""
    reason = f"{missing.reason.removesuffix('.')}{where}."
    return {"code": missing.code, "title": missing.title, "reason": reason}
