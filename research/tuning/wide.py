"""Wide and sparse tables: which projection, from how many columns on, and what it costs.

The split, written before anything was measured:

- **Choosing** (anything may be looked at, as often as wanted): scikit-learn's digits with the
  classes of odd index as positives; the arabic digits with odd classes; docstrings of scipy and
  pandas as positives. Seeds from 100 on.
- **Reporting** (once, for the finished choice): the digits with even classes; the arabic digits
  with even classes; the letters q and g; docstrings of scikit-learn, statsmodels and matplotlib as
  positives. Seeds below 100.

In both, the rest of a docstring's sample comes from the packages in `OTHERS`, which are never
positives.

    python -m research.tuning.wide choose             # all candidates, on the data for choosing
    python -m research.tuning.wide columns            # with and without, for 50 to 400 columns
    python -m research.tuning.wide report             # the tables of docs/wide.md
    python -m research.tuning.wide report --direct    # the methods project by themselves
    python -m research.tuning.wide limits             # seconds and memory of very wide tables

Tables are widened in three ways. *x 1000* multiplies the standardised features by a random matrix
with 1,000 columns; *noisy 1000* adds noise of half its standard deviation to each of these columns;
*beside 1000* keeps the features and puts columns of noise beside them. Prose comes as *tfidf*
(fitted on the labelled positives), *hashed* (2^17 columns), and *first* (first paragraphs, hashed).
Samples have 500 rows, or as many as the positives suffice for.

The columns of the tables: mean absolute error and bias in points, the error of samples of positives
only, the share of 95 % intervals that hold, their width in points, and the seconds of a fit and of
a sample.
"""

from __future__ import annotations

import argparse
import ast
import functools
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from poscount import PAT, RCQ, TRCQ, InputError, Mahalanobis
from poscount.data.projection import learn_projection
from poscount.seeds import stream
from research.datasets import load
from research.tuning.wide_candidates import CANDIDATES, Block, Project, shipped

PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
CHOOSING = {
    "digits": (1, 3, 5, 7, 9),
    "arabic_digit": (1, 3, 5, 7, 9),
    "prose": ("scipy", "pandas"),
}
REPORTING = {
    "digits": (0, 2, 4, 6, 8),
    "arabic_digit": (0, 2, 4, 6, 8),
    "handwritten_qg": (0, 1),
    "prose": ("sklearn", "statsmodels", "matplotlib"),
}
OTHERS = ("pyspark", "numba", "polars", "numpy", "mypy", "sphinx", "dask", "pydantic", "hypothesis")
N_LABELED = {
    "digits": (90,),
    "arabic_digit": (100, 400),
    "handwritten_qg": (200, 1000),
    "prose": (100, 300, 1000),
}
N_ROWS = 500
TABLES = ("x 1000", "noisy 1000", "beside 1000")
PROSE = ("tfidf", "hashed", "first")
SHORTEST, MOST_DOCSTRINGS = 200, 2500


class Task(NamedTuple):
    """Labelled positives, and samples with their prevalences."""

    group: str
    labeled: Block
    samples: list[tuple[Block, float]]


@functools.cache
def docstrings(package: str) -> list[str]:
    """Distinct docstrings of an installed package, in the order of its files."""
    folder = Path(sklearn.__file__).parents[1] / package
    found: dict[str, None] = {}
    for file in sorted(folder.rglob("*.py")):
        if "test" in str(file.relative_to(folder)):
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, kinds) else None
            if text and len(text) >= SHORTEST:
                found[text] = None
    return list(found)[:MOST_DOCSTRINGS]


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and class numbers of a data set."""
    if name == "digits":
        return load_digits(return_X_y=True)
    data = load(name)
    classes = np.unique(data.labels, return_inverse=True)[1]
    return np.asarray(data.features, float), classes


def widened(rows: np.ndarray, variant: str, rng: np.random.Generator) -> np.ndarray:
    """The features multiplied, with noise in each or beside them, to a number of columns."""
    kind, _, width = variant.partition(" ")
    if not width:
        return rows
    varying = rows[:, np.ptp(rows, axis=0) > 0]
    z = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    if kind == "beside":
        return np.hstack([z, rng.normal(size=(len(z), int(width) - z.shape[1]))])
    wide = z @ rng.normal(size=(z.shape[1], int(width)))
    if kind == "noisy":
        wide += wide.std(axis=0) / 2 * rng.normal(size=wide.shape)
    return wide


def sampled(
    positives: np.ndarray, others: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, float]]:
    """Indices of the rows of a sample for each prevalence, and the prevalence it really has."""
    for p in PREVALENCES:
        n = min(N_ROWS, int(len(positives) / p))
        k = round(n * p)
        drawn = [rng.permutation(positives)[:k], rng.permutation(others)[: n - k]]
        yield np.concatenate(drawn), k / n


def dense_tasks(name: str, classes: tuple, variants: tuple, seed: int) -> Iterator[Task]:
    rows, labels = table(name)
    for variant in variants:
        for positive in classes:
            rng = stream(seed, f"{name} {variant} {positive}")
            wide = widened(rows, variant, rng)
            mine, others = np.flatnonzero(labels == positive), np.flatnonzero(labels != positive)
            for n_labeled in N_LABELED[name]:
                order = rng.permutation(mine)
                samples = [(wide[index], p) for index, p in sampled(order[n_labeled:], others, rng)]
                yield Task(f"{name} {variant}, {n_labeled}", wide[order[:n_labeled]], samples)


def prose_tasks(packages: tuple, variants: tuple, seed: int) -> Iterator[Task]:
    rest = [text for package in OTHERS for text in docstrings(package)]
    for variant in variants:
        for package in packages:
            mine, others = docstrings(package), rest
            if variant == "first":
                mine, others = (
                    list(dict.fromkeys(text.partition("\n\n")[0] for text in texts))
                    for texts in (mine, others)
                )
            texts = np.array([*mine, *others], dtype=object)
            for n_labeled in N_LABELED["prose"]:
                rng = stream(seed, f"{package} {n_labeled}")
                order = rng.permutation(len(mine))
                labeled = texts[order[:n_labeled]]
                encode = (
                    TfidfVectorizer(sublinear_tf=True).fit(labeled)
                    if variant == "tfidf"
                    else HashingVectorizer(n_features=2**17, alternate_sign=False)
                )
                drawn = sampled(order[n_labeled:], np.arange(len(mine), len(texts)), rng)
                samples = [(encode.transform(texts[index]), p) for index, p in drawn]
                yield Task(f"prose {variant}, {n_labeled}", encode.transform(labeled), samples)


def tasks(of: dict[str, tuple], variants: Iterable[str], seeds: Iterable[int]) -> Iterator[Task]:
    """Tasks of data sets with the positive classes, or packages, that are given."""
    for seed in seeds:
        for name, classes in of.items():
            if name == "prose":
                yield from prose_tasks(classes, tuple(variants), seed)
            else:
                yield from dense_tasks(name, classes, tuple(variants), seed)


def rcq(seed: int) -> RCQ:
    return RCQ(random_state=seed)


def pat(seed: int) -> PAT:
    return PAT(scorer=Mahalanobis("ledoit-wolf"), random_state=seed)


def pat_with_svd(seed: int) -> PAT:
    scorer = make_pipeline(TruncatedSVD(50, random_state=seed), Mahalanobis("ledoit-wolf"))
    return PAT(scorer=scorer, random_state=seed)


def trcq(seed: int) -> TRCQ:
    return TRCQ(random_state=seed)


class Told(NamedTuple):
    """An answer, the truth, and the seconds of its fit and of its sample."""

    value: float
    low: float
    high: float
    truth: float
    fit: float
    count: float


def answers(task: Task, project: Project | None, method: Callable[[int], Any]) -> Iterator[Told]:
    """Answers to the samples of a task, projected by hand, or given as they are for None."""
    started = time.perf_counter()
    apply = project(task.labeled, 0) if project else (lambda block: block)
    model = method(0).fit(apply(task.labeled))
    fit = time.perf_counter() - started
    for sample, truth in task.samples:
        started = time.perf_counter()
        told = model.quantify(apply(sample))
        count = time.perf_counter() - started
        yield Told(float(told), told.interval.low, told.interval.high, truth, fit, count)


Table = dict[tuple[str, str], list[Told]]


class Way(NamedTuple):
    """A projection by hand, or None; a method; and in which groups of tasks it is tried."""

    project: Project | None
    method: Callable[[int], Any]
    only: tuple[str, ...] = ("",)


def measured(found: Iterable[Task], ways: dict[str, Way], direct: bool = False) -> Table:
    """Answers by the group of the task and the name of the way."""
    table: Table = defaultdict(list)
    for task in found:
        small = not sparse.issparse(task.labeled) and task.labeled.shape[1] <= 1000
        for name, (project, method, only) in ways.items():
            takes_it = project or direct or small or method is pat_with_svd
            if not takes_it or not any(word in task.group for word in only):
                continue
            try:
                told = list(answers(task, project, method))
            except InputError as error:
                print(f"{task.group}, {name}: {error}", file=sys.stderr)
            else:
                table[task.group, name] += told
    return table


def print_table(table: Table) -> None:
    print("\n| data | | MAE | bias | MAE at 1 | held | width | fit, s | sample, s |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for (group, name), told in sorted(table.items(), key=lambda item: item[0][0]):
        value, low, high, truth, fit, count = np.array(told).T
        held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
        error = 100 * (value - truth)
        print(
            f"| {group} | {name} | {abs(error).mean():.1f} | {error.mean():.1f} | "
            f"{abs(error[truth == 1]).mean():.1f} | {held.mean():.2f} | "
            f"{100 * (high - low).mean():.0f} | {fit.mean():.2f} | {count.mean():.3f} |"
        )


def limits() -> None:
    """Very wide tables, each in a process of its own, because peaks of memory do not go away."""
    print("| table | columns | learn, s | fit, s | sample, s | MB | answer |")
    print("|---|---|---|---|---|---|---|")
    for form in ("dense", "sparse"):
        for n_columns in (5_000, 100_000):
            command = [sys.executable, "-m", "research.tuning.wide", "limit", "--form", form]
            subprocess.run([*command, "--columns", str(n_columns)], check=True)


def limit(form: str, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    if form == "dense":
        positives, sample = (rng.normal(size=(n, n_columns)) for n in (200, 500))
    else:
        # As often as words: the share of rows that have a column falls with its rank.
        shares = np.minimum(0.9, 10 / np.arange(1, n_columns + 1))
        positives, sample = (
            sparse.csr_array((rng.random((n, n_columns)) < shares).astype(float))
            for n in (200, 500)
        )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = [time.perf_counter()]
    projection = learn_projection(positives, 0)
    times.append(time.perf_counter())
    model = RCQ(random_state=0).fit(projection.apply(positives))
    times.append(time.perf_counter())
    told = model.quantify(projection.apply(sample))
    times.append(time.perf_counter())
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    seconds = " | ".join(f"{each:.2f}" for each in np.diff(times))
    print(f"| {form} | {n_columns} | {seconds} | {more:.0f} | {told:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("choose", "columns", "report", "limits", "limit"))
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--data", nargs="*", choices=tuple(REPORTING), help="of the report")
    parser.add_argument("--form", default="dense")
    parser.add_argument("--columns", type=int, default=5000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "limits":
        limits()
    elif given.what == "limit":
        limit(given.form, given.columns)
    elif given.what == "choose":
        ways = {name: Way(project, rcq) for name, project in CANDIDATES.items()}
        for name, variants in (("digits", TABLES), ("arabic_digit", TABLES), ("prose", PROSE)):
            print_table(measured(tasks({name: CHOOSING[name]}, variants, (100,)), ways))
    elif given.what == "columns":
        tables = {name: CHOOSING[name] for name in ("digits", "arabic_digit")}
        widths = [f"{kind} {n}" for n in (50, 100, 200, 400) for kind in ("x", "noisy", "beside")]
        ways = {"none": Way(None, rcq), "shipped": Way(shipped, rcq)}
        print_table(measured(tasks(tables, widths, (100, 101)), ways))
    else:
        project = None if given.direct else shipped
        ways = {
            "RCQ": Way(project, rcq),
            "PAT": Way(project, pat),
            "TRCQ": Way(project, trcq, only=(" x 1000", "hashed")),
            "PAT, SVD in its scorer": Way(None, pat_with_svd, only=("hashed",)),
        }
        if not given.direct:
            ways["RCQ, all columns"] = Way(None, rcq)
        wide = ("original", "x 1000", "x 5000", "noisy 1000", "beside 1000")
        for name in given.data or REPORTING:
            for variant in PROSE if name == "prose" else wide:
                found = tasks({name: REPORTING[name]}, (variant,), (0,))
                print_table(measured(found, ways, given.direct))


if __name__ == "__main__":
    main()
