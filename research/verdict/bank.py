"""The bank of the verdict: clean and broken samples of real tables, and what RCQ said about them.

Each task has clean samples and broken ones, of several kinds and strengths. Every case is answered
by RCQ without unlabeled rows; some also by RCQ that learned from the sample, or from other rows of
the same table in which nothing is broken.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from joblib import Parallel, delayed

import research.calibrations  # noqa: F401 (it adds families)
from poscount import RCQ, Prevalence
from poscount.calibration.doubt import ANSWERS, BREAKS, Doubt
from poscount.checks import broken_assumption
from poscount.methods.regions import estimate
from poscount.methods.regions.doubt_features import DOUBT_FEATURES, doubt_features
from poscount.seeds import stream
from poscount.storage import container
from poscount.training.bank import table_of
from poscount.training.sources import Source
from poscount.training.tasks import Limits, Task, draw_prevalence, draw_real, draw_reference
from research.verdict.breaks import CHANGES, Case, case, rescaled
from research.verdict.families import FAMILIES

LIMITS = Limits(n_labeled=800, n_rows=1_500, n_samples=1)
# Of each task; and the share of cases that are answered with unlabeled rows, too.
N_CLEAN, N_BROKEN = 4, 10
WITH_SAMPLE, WITH_OTHERS = 0.35, 0.2
WAYS = ("positives alone", "the sample", "other rows")
NAMES = ("clean", *CHANGES)


class Answered(NamedTuple):
    """Lines about cases, an entry for each.

    Attributes
    ----------
    lines : ndarray of shape (n_cases, len(DOUBT_FEATURES))
    name, kind, way : ndarray of int
        Places in `NAMES`, `BREAKS` and `WAYS`.
    strength : ndarray
    truth, value, low, high : ndarray
    codes : ndarray of str
        Codes and severities of its warnings, none of which is the doubt's.
    source, kin : ndarray of str
    """

    lines: np.ndarray
    name: np.ndarray
    kind: np.ndarray
    way: np.ndarray
    strength: np.ndarray
    truth: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    codes: np.ndarray
    source: np.ndarray
    kin: np.ndarray

    @property
    def wrong(self) -> np.ndarray:
        """Answers that are off by more than 15 points, with the truth outside of the interval."""
        off = np.abs(self.value - self.truth) > 0.15
        return off & ((self.truth < self.low) | (self.truth > self.high))

    @property
    def checked(self) -> np.ndarray:
        """Answers that some other check says are to be checked, or not to be used."""
        return np.array([":check" in codes or ":do not use" in codes for codes in self.codes])

    @property
    def useless(self) -> np.ndarray:
        """Answers that some other check says are not to be used."""
        return np.array([":do not use" in codes for codes in self.codes])

    def part(self, kept: np.ndarray) -> Answered:
        """Some of the cases."""
        return Answered(*(column[kept] for column in self))


def make_answers(
    folder: Path,
    sources: Sequence[tuple[Source | str, int]],
    n_jobs: int | None = None,
    seed: int = 0,
) -> Answered:
    """Answer the cases of all tasks, or those that the folder does not have yet."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = [(source, number) for source, n in sources for number in range(n)]
    asked.sort(key=lambda pair: pair[1])
    Parallel(n_jobs)(delayed(_make_part)(folder, *each, seed) for each in asked)
    return read_answers(folder)


def read_answers(folder: Path) -> Answered:
    """All answers in a folder."""
    parts = []
    for path in sorted(folder.glob("*.part")):
        meta, arrays = container.read(path, "verdict")
        if not len(arrays["lines"]):
            continue
        texts = [np.array(meta["codes"], object)]
        texts += [np.full(len(texts[0]), meta[name], object) for name in ("source", "kin")]
        parts.append(Answered(*(arrays[name] for name in Answered._fields[:9]), *texts))
    return Answered(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _make_part(folder: Path, source: Source | str, number: int, seed: int) -> None:
    name, kin = (source, source) if isinstance(source, str) else (source.name, source.kin)
    path = folder / f"{name}-{number:04d}.part"
    if path.exists():
        return
    warnings.simplefilter("ignore")
    found = list(answers_to_task(source, number, seed))
    columns = list(zip(*(values for values, _ in found), strict=True)) if found else [()] * 9
    arrays = {
        name: np.array(column) for name, column in zip(Answered._fields[:9], columns, strict=True)
    }
    if not found:
        arrays["lines"] = np.empty((0, len(DOUBT_FEATURES)))
    meta = {"source": name, "kin": kin, "codes": [codes for _, codes in found]}
    container.write(path, "verdict", meta, arrays)


def answers_to_task(
    source: Source | str, number: int, seed: int = 0
) -> Iterator[tuple[tuple, str]]:
    """Answers to the cases of a task, by the shipped calibrations."""
    name = source if isinstance(source, str) else source.name
    rng = stream(seed, f"{name} {number} verdict")
    if isinstance(source, str):
        task = FAMILIES[source].draw(rng, LIMITS)
    else:
        task = draw_real(source, rng, LIMITS)
    task = rescaled(task, rng)
    names = [*["clean"] * N_CLEAN, *rng.choice(list(CHANGES), N_BROKEN, replace=False).tolist()]
    for name in names:
        strength = float(rng.uniform(0.15, 1))
        p = draw_prevalence(rng) if rng.random() < 0.4 else float(rng.uniform(0.05, 0.9))
        made = case(name, task, p, strength, rng)
        ways = (True, rng.random() < WITH_SAMPLE, rng.random() < WITH_OTHERS)
        other = _other_rows(task, made, rng) if ways[2] else None
        if made is None:
            continue
        for way, (used, reference) in enumerate(zip(ways, (None, made.sample, other), strict=True)):
            if not used or (way == 2 and reference is None):
                continue
            answer = _answer(made, reference, seed)
            if answer is None:
                continue
            line, p, codes = answer
            assert p.interval is not None
            head = (NAMES.index(name), made.kind, way, strength, made.prevalence)
            yield (line, *head, float(p), p.interval.low, p.interval.high), codes


def _other_rows(task: Task, made: Case | None, rng: np.random.Generator) -> np.ndarray | None:
    """Unlabeled rows of the same field, recorded and prepared as the positives are."""
    others = draw_reference(task, rng)
    if made is None or others.shape[1] != made.labeled.shape[1] or made.kind in _NO_OTHERS:
        return None
    return others


# Where no rows are both unlabeled and like the positives.
_NO_OTHERS = (BREAKS.index("swapped"),)


def _never() -> Doubt:
    """Limits that nothing exceeds: the doubt is what will be learned."""
    doubt = Doubt()
    doubt.check_, doubt.do_not_use_ = np.ones(len(ANSWERS) + 1), 1.0
    return doubt


def _answer(
    made: Case, reference: np.ndarray | None, seed: int
) -> tuple[np.ndarray, Prevalence, str] | None:
    """The answer that users get, what its doubt saw, and what the other checks said."""

    def given(rows: np.ndarray) -> object:
        return table_of(rows, made.words) if made.words else rows

    seen: list[np.ndarray] = []

    def recorded(*of_samples: Any) -> np.ndarray:
        seen.append(doubt_features(*of_samples))
        return seen[-1]

    unlabeled = None if reference is None else given(reference)
    try:
        with (
            mock.patch.object(estimate, "doubt_features", recorded),
            mock.patch.object(broken_assumption, "shipped_doubt", _never),
        ):
            model = RCQ(random_state=seed).fit(given(made.labeled), unlabeled=unlabeled)
            answer = model.quantify(given(made.sample))
    except ValueError:  # such as: no column varies
        return None
    if not seen:  # few positives: PAT's rule
        return None
    # Of a sample that is compared with its context, what was seen last is what counts.
    codes = " ".join(f"{warning.code}:{warning.severity}" for warning in answer.warnings)
    return seen[-1][0], answer, codes
