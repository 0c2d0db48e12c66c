"""What a fitted model does with each of its columns."""

from __future__ import annotations

from typing import NamedTuple

from poscount.base.quantifier import Quantifier
from poscount.methods.regions.multi_rcq import MultiRCQ


class ModelColumn(NamedTuple):
    """A column of a model, its kind, and what the model does with it, in a few words."""

    name: str
    kind: str
    done: str


def describe_columns(model: Quantifier) -> list[ModelColumn]:
    """List the columns of a fitted model, in its order.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import load_example
    >>> model = PAT(random_state=0).fit(load_example("pyarrow").positives)
    >>> describe_columns(model)[0]
    ModelColumn(name='wingbeat_hz', kind='number', done='used as a number')
    """
    if not hasattr(model, "columns_"):
        # The scorer takes tables as they are.
        return [ModelColumn(name, "any", "left to the scorer") for name in model.feature_names]
    projected = " and projected" if hasattr(model, "projection_") else ""
    return [
        ModelColumn(column.name, column.kind, column.use + projected) for column in model.columns_
    ]


def describe_targets(model: MultiRCQ) -> dict[str, int]:
    """Names of the targets of a fitted model, and how many positives each has learned from."""
    sizes = dict(zip(model.groups_.names_, model.groups_.sizes_.tolist(), strict=True))
    return {name: sizes[name] for name in model.targets_}
