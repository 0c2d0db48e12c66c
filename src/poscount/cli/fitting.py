"""Which kind of model the options of the command line ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poscount import registry, workflows
from poscount.cli.options import names
from poscount.errors import InputError


def fitted(
    positives: Sequence[str],
    method: str,
    targets: str | None,
    target_column: str | None,
    negatives: Sequence[str],
    options: Mapping[str, Any],
    *,
    weights: str | None = None,
    **reading: Any,
) -> Any:
    """Fit a model of one target, or of several if they are named or a column names them."""
    if targets is None and target_column is None:
        if len(positives) > 1:
            raise InputError(
                f"There are {len(positives)} files of positives: name the target of each.",
                option="targets",
            )
        return workflows.fit(
            positives[0],
            method,
            options=options,
            weights=weights,
            negatives=negatives,
            **reading,
        )
    several = "Several targets are counted by regions, as rcq does"
    if method != registry.DEFAULT_METHOD:
        raise InputError(f"{several}, not by {method}.", option="method", leave_out=True)
    if negatives:
        raise InputError(
            "Among several targets, negatives are one more target.",
            option="negatives",
            leave_out=True,
        )
    for name in ("scorer", "subclasses", "bootstrap"):
        if options.get(name) is not None:
            raise InputError(
                f"{several}, which has no use for {name}.", option=name, leave_out=True
            )
    used = ("confidence", "calibration", "random_state")
    return workflows.fit_targets(
        positives,
        targets=names(targets),
        target_column=target_column,
        options={name: options.get(name) for name in used},
        weights=weights,
        **reading,
    )
