"""From files to the assumption report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poscount import diagnostics
from poscount.base import Quantifier
from poscount.diagnostics import Diagnosis
from poscount.files.reading import expand
from poscount.workflows import read_sample


def diagnose(
    model: Quantifier,
    paths: Sequence[str],
    positives: str | None,
    reference: str | None,
    layout: dict[str, Any],
) -> Diagnosis:
    """Diagnose what a model says of files of unlabeled rows."""
    if any(path.endswith(".counts") for path in paths):
        raise ValueError("A diagnosis looks at rows, not only at counts: give the data instead.")

    def read(files: Sequence[str]) -> Any:
        return read_sample(model, expand(files), layout)

    return diagnostics.diagnose(
        model,
        read(paths),
        positives=None if positives is None else read([positives]),
        reference=None if reference is None else read([reference]),
    )
