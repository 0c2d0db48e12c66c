"""Banks of what SubclassRCQ and MultiRCQ said, which their shipped calibrations learn from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from poscount.calibration.calibration import RECOGNISABLE
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.subclass_features import SUBCLASS_FEATURES
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.methods.regions.target_estimates import OTHER_FEATURES, TARGET_FEATURES
from poscount.seeds import stream
from poscount.training.bank import Family, Labelled, lines_of_task, table_of
from poscount.training.sources import Source
from poscount.training.tasks import (
    LEAST_AREA,
    MOST_ROWS,
    Limits,
    Sample,
    Task,
    areas,
    draw_reference,
)
from research.calibrations.drift_tasks import draw_drift_task
from research.calibrations.target_tasks import (
    TargetTask,
    draw_target_samples,
    draw_target_task,
)

COLUMNS = {
    "RCQ-kinds": [*SUBCLASS_FEATURES, RECOGNISABLE],
    "RCQ-groups": [*TARGET_FEATURES, RECOGNISABLE],
    "RCQ-other": [*OTHER_FEATURES, RECOGNISABLE],
}
LIMITS = {
    # A dozen models are learned for each task, three times.
    "RCQ-kinds": Limits(n_labeled=3_000, n_rows=3_000, n_samples=3, drift=True),
    # A model for each of up to ten groups, so that learning takes longer than many samples.
    "RCQ-groups": Limits(n_labeled=500, n_rows=3_000, n_samples=6),
}


def _lines_of_kinds(
    task: Task, samples: list[Sample], rng: np.random.Generator, seed: int
) -> Iterator[tuple[np.ndarray, list[Sample]]]:
    """Lines of all samples without a reference and with one of other rows, if there are kinds.

    And of the first sample with itself as the reference.
    """
    first, *_ = samples
    given = np.asarray if task.kinds is None else table_of
    for reference, seen in (
        (None, samples),
        (first.rows, [first]),
        (draw_reference(task, rng), samples),
    ):
        model = _fit_kinds(task, None if reference is None else given(reference), seed)
        if model is not None:
            yield model._features(*(model.count(given(sample.rows)) for sample in seen)), seen


def _lines_of_groups(
    source: Source | Family, limits: Limits, seed: int, number: int
) -> tuple[Labelled, Labelled]:
    """What is said about the groups of a task with several of them, and about "other"."""
    name = source.name
    rng = stream(seed, f"{name} {number} groups")
    task = draw_target_task(source, rng, limits)
    samples = draw_target_samples(task, rng, limits)
    # In the order of the model, which is that of the names.
    labeled = {f"group {k:02d}": rows for k, rows in enumerate(task.labeled)}
    try:
        model = MultiRCQ(calibration="null", random_state=seed).fit(labeled)
    except ValueError:  # such as: rows of a group are too much alike
        methods = ("RCQ-groups", "RCQ-other")
        none = [Labelled(np.empty((0, len(COLUMNS[name]))), []) for name in methods]
        return none[0], none[1]
    found = model._features(*(model.count(sample.rows) for sample in samples))
    told = _recognisable_groups(task, stream(seed, f"{name} {number} recognisable"))
    shares = np.array([sample.shares for sample in samples])
    of_groups, of_other = (
        np.column_stack([lines, np.full(len(lines), told)])
        for lines in (np.concatenate(found.groups), found.other)
    )
    return (
        Labelled(of_groups, shares.T.ravel().tolist()),
        Labelled(of_other, (1 - shares.sum(axis=1)).tolist()),
    )


def _recognisable_groups(task: TargetTask, rng: np.random.Generator) -> bool:
    """Whether every group can be told from everything else."""
    rows = [
        draw(min(MOST_ROWS, most), rng)
        for draw, most in zip(task.pools, task.available.tolist(), strict=True)
    ]
    classes = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    return bool(areas(np.concatenate(rows), classes, rng)[: len(task.labeled)].min() >= LEAST_AREA)


def _fit_kinds(task: Task, unlabeled: Any, seed: int) -> SubclassRCQ | None:
    """A model; None if the positives are refused, have no regions or are of one kind."""
    labeled, subclasses = task.labeled, "auto"
    if task.kinds is not None:
        labeled, subclasses = table_of(labeled).append_column("kind", [task.kinds]), "kind"
    model = SubclassRCQ(subclasses, calibration="null", random_state=seed)
    try:
        model.fit(labeled, unlabeled=unlabeled)
    except ValueError:  # such as: no column varies
        return None
    return model if model.part_.rule.enough_positives and model.subclass_parts_ else None


LINES: dict[str, Callable[..., tuple[Labelled, ...]]] = {
    "RCQ-kinds": functools.partial(
        lines_of_task, _lines_of_kinds, len(COLUMNS["RCQ-kinds"]), draw_drift_task
    ),
    "RCQ-groups": _lines_of_groups,
}
