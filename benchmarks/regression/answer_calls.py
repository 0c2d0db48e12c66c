"""What the answers ask of poscount: whatever may get another name or form is called only here."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import poscount
from poscount import engines, registry
from research.datasets import load

SEED = 3


def methods() -> list[str]:
    """Names of all methods of one target."""
    return [name for name in registry.METHODS if name != "subclassrcq"]


def method(name: str, *arguments: Any, **settings: Any) -> Any:
    return registry.method(name)(*arguments, random_state=SEED, **settings)


def rcq(**settings: Any) -> Any:
    return poscount.RCQ(random_state=SEED, **settings)


def with_subclasses(which: int | str, **settings: Any) -> Any:
    """RCQ for positives of several kinds: a number of them, "auto", or a column's name."""
    return poscount.SubclassRCQ(which, random_state=SEED, **settings)


def fit_with_negatives(
    positives: Any, negatives: Any, features: Sequence[str] | None = None, **settings: Any
) -> Any:
    """RCQ that knows some negatives: a table, or tables by name."""
    model = poscount.RCQWithNegatives(random_state=SEED, **settings)
    return model.fit(positives, negatives=negatives, features=features)


def several_targets(**settings: Any) -> Any:
    return poscount.MultiRCQ(random_state=SEED, **settings)


def fit_target_column(model: Any, frame: Any, column: str, features: Sequence[str]) -> Any:
    return model.fit(frame, target_column=column, features=features)


def resampled(name: str, n: int, confidence: float) -> Any:
    """A method with an interval from `n` random halves of the rows."""
    found = registry.method(name)()
    return poscount.Bootstrap(found, n, confidence=confidence, random_state=SEED)


def scorers() -> dict[str, Any]:
    return {name: registry.scorer(name) for name in registry.SCORERS}


def answers_of_groups(model: Any, frame: Any, by: Any, weights: Any = None) -> Mapping[tuple, Any]:
    """Answers by the values of the grouping columns."""
    return model.quantify_groups(frame, by, weights=weights)


def frame_of_groups(model: Any, frame: Any, by: Any, weights: Any = None) -> Any:
    return model.quantify_by(frame, by, weights=weights)


def count_groups(model: Any, frame: Any, by: Any, weights: Any = None) -> Any:
    return model.count_by(frame, by, weights=weights)


def count_files(model: Any, files: Any, **options: Any) -> Any:
    return engines.count(model, files, **options)


def windows(model: Any, batches: Any, **options: Any) -> Any:
    return engines.windows(model, batches, **options)


def can_count(model: Any) -> bool:
    return hasattr(model, "count")


def model_hash(model: Any) -> str | None:
    return getattr(model, "hash_", None)


def loaded_again(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.poscount")
        return poscount.load(f"{folder}/model.poscount")


def counts_loaded_again(counts: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        counts.save(f"{folder}/counts")
        return poscount.Counts.load(f"{folder}/counts")


def diagnosis(model: Any, sample: Any, **more: Any) -> Any:
    """Severity and number of every warning, and the readings of the sample."""
    try:
        found = poscount.diagnose(model, sample, **more)
    except ValueError:
        return "refused"
    readings = {} if found.what_if is None else {each.code: each.value for each in found.what_if}
    warnings = {each.code: [each.severity, each.value] for each in found.warnings}
    compared = None if found.comparison is None else found.comparison.difference
    return {"warnings": warnings, "what_if": readings, "difference": compared}


def comparison(model: Any, *samples: Any) -> Any:
    found = poscount.compare_samples(model, *map(model.count, samples))
    return {
        "difference": [found.difference, *found.interval, found.interval.level],
        "prevalences": found.prevalences,
        "core_difference": [found.core_difference, found.limit],
        "reading": found.reading,
    }


def series(model: Any, data: Any, by: str | None = None, **options: Any) -> Any:
    found = poscount.trend(model, data, by, **options)
    return {
        "points": found.records(),
        "all rows": found.answer,
        "step": found.step,
        "slope": found.slope,
        "dispersion": [found.dispersion, found.dispersion_p_value],
        "baseline": found.baseline,
    }


def alarms(model: Any, samples: Any) -> Any:
    detector = poscount.ChangeDetector(model, run_length=50, baseline=6)
    return [detector.update(model.count(sample)) for sample in samples]


def label_table(model: Any, frame: Any, n: int, **options: Any) -> Any:
    return poscount.audit(model, frame, n, **options)


def drawn_rows(table: Any) -> Any:
    """Which rows an audit has drawn, and from which strata."""
    columns = ("audit_row", "audit_stratum", "audit_stratum_rows")
    return {name: table[name].to_list() for name in columns}


def strata_of(table: Any) -> Any:
    """Number and size of each stratum, and how many rows of it are drawn."""
    columns = ["audit_stratum", "audit_stratum_rows"]
    return table.groupby(columns, as_index=False).size().to_numpy()


def told_by_labels(strata: Sequence[tuple[int, int, int]]) -> Any:
    """What labels say: strata are numbers of rows, of labels and of positives among these.

    Strata take turns, and each has its positives first.
    """
    from poscount.auditing.labels import Evidence, Labels, labels_needed

    rows, n, positives = np.array(strata).T
    order = sorted((rank / n[h], h, rank) for h in range(len(n)) for rank in range(n[h]))
    stratum = np.array([h for _, h, _ in order])
    positive = np.array([rank < positives[h] for _, h, rank in order])
    left = rows - np.cumsum(np.eye(len(n))[stratum], axis=0) + np.eye(len(n))[stratum]
    chance = (left > 0) / (left > 0).sum(axis=1, keepdims=True)
    expected = np.full(len(n), 0.3)
    labels = Labels(rows.astype(float), expected, chance, stratum, np.ones(len(stratum)), positive)
    found = Evidence(labels)
    return [found.value, found.low, found.high, labels_needed(labels, 0.1, 0.95)]


def settlement(model: Any, frame: Any, labelled: Any) -> Any:
    found = poscount.settle(model, frame, labelled)
    return {
        "labels": found.prevalence,
        "answer": found.answer,
        "model": found.model,
        "agreement": found.agreement,
        "findings": [[caution.code, caution.value] for caution in found.findings],
        "strata": found.strata,
        "rows": [len(found.positives), len(found.negatives)],
        "labels needed": [found.labels_needed(width) for width in (0.2, 0.05)],
    }


def likely(model: Any, frame: Any, top: int, **options: Any) -> Any:
    found = poscount.likely_positives(model, frame, top, **options)
    return {name: found[name].to_list() for name in ("probability", "source_row")}


def calibration_of(name: str) -> Any:
    """A calibration that comes with poscount, as an object."""
    from poscount.calibration.files import shipped

    return shipped(name)


def training_lines(name: str, families: Mapping[str, int], n_of_table: int) -> Any:
    """What a calibration learns from: lines about tasks whose truth is known.

    Tasks are drawn from synthetic families, so many of each, and from a table.
    """
    from poscount.training.bank import make_bank, read_bank
    from research.calibrations import bundled, corrupted

    table = bundled("wine")
    if name == "RCQ":
        table = table._replace(change=corrupted)
    plan = [*families.items(), *([(table, n_of_table)] if n_of_table else [])]
    with tempfile.TemporaryDirectory() as folder:
        found = read_bank(make_bank(Path(folder), name, plan))
    return {"columns": found.columns, "lines": found.lines, "truth": found.truth}


def one_evaluation(experiment: str, name: str) -> Any:
    """What the paper's experiments store for one place of a protocol."""
    from research.experiments import methods, protocols
    from research.experiments.runner import Unit, evaluate

    dataset = load("overlap-half")
    place = next(protocols.places(experiment, dataset, 1))
    evaluations = evaluate(dataset, Unit(place, (methods.resolve(name),)), 0)
    return [[e.point, e.truth, e.estimate, e.low, e.high, e.warnings] for e in evaluations]


def command_line(*words: str) -> str:
    """What a command prints on standard output."""
    from poscount.cli.app import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        app([*words])
    return printed.getvalue()


def fit_by_command(model_file: str, *files: str, **options: str) -> None:
    """Fit from files; options by the names that they have on the command line."""
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    command_line("fit", *files, "-o", model_file, *given, "--random-state", str(SEED))


def json_of_command(*words: str) -> Any:
    """What a command prints for programs."""
    return json.loads(command_line(*words, "--format", "json"))
