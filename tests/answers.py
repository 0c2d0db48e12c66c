"""Answers compared whole: value, interval, warnings, details, counts.

``==`` on two prevalences compares their values alone, as it does for any float, so that a test
which uses it would not notice that an interval or a warning is lost. `conftest.py` makes such a
test fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

from poscount import Counts, Distribution, Prevalence
from poscount.counts.counts import GroupedCounts
from poscount.results.distribution import LEVELS
from poscount.results.what_if import WhatIf

# Of one answer, what another way to the same counts may not change, and its name and sample aside.
PARTS = (
    *("value", "interval", "distribution", "warnings", "details"),
    *("n_labeled", "n_unlabeled", "total_weight", "method"),
)


def distribution_of(low: float, value: float, high: float, level: float = 0.95) -> Distribution:
    """One that has these ends at this level, and this median."""
    places = [(1 - level) / 2, 0.5, (1 + level) / 2]
    return Distribution(np.interp(LEVELS, places, [low, value, high]))


def everything(answer: Any, *, without: Iterable[str] = ()) -> Any:
    """All that an answer says, in a form that ``==`` compares bit for bit.

    Parameters
    ----------
    answer : Prevalence, Counts, GroupedCounts, dataclass, or a list, tuple or mapping of these
    without : iterable of str
        Parts of prevalences, of `PARTS`, that are not compared.
    """
    if isinstance(answer, Prevalence):
        parts = {"value": float(answer)} | {name: getattr(answer, name) for name in PARTS[1:]}
        return {name: everything(parts[name]) for name in PARTS if name not in without}
    if isinstance(answer, Counts | GroupedCounts | Distribution):
        return {name: everything(value) for name, value in vars(answer).items()}
    if isinstance(answer, WhatIf):
        return everything(list(answer))
    if isinstance(answer, Mapping):
        return {name: everything(value, without=without) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [everything(value, without=without) for value in answer]
    if is_dataclass(answer):
        return everything(asdict(answer))
    if isinstance(answer, np.ndarray):
        return [str(answer.dtype), answer.shape, answer.tolist()]
    return answer


def assert_same_answer(one: Any, other: Any, *, without: Iterable[str] = ()) -> None:
    """Compare two answers, or two collections of answers, with all that they say."""
    one, other = (everything(answer, without=without) for answer in (one, other))
    assert one == other
