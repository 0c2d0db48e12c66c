"""Our methods beside other libraries, on the same samples of Experiment #1.

    pip install pulearn==0.2.0 pu-toolbox==1.11.0 pythresh==1.1.1 scikit-lego xgboost
    python -m benchmarks.accuracy.peers  # what is installed, 330 samples each
    python -m benchmarks.accuracy.peers --folds 1  # the first 66 samples, for slow methods
    python -m benchmarks.accuracy.peers --only RCQ PAT  # methods whose names begin so
    python -m benchmarks.accuracy.peers --make-bank BANK  # first, for RCQ's left-out calibration
    python -m benchmarks.accuracy.peers --bank BANK  # then RCQ is calibrated without the data set
    python -m benchmarks.accuracy.peers --print-only  # the table of what is in the results

Answers are kept in `peers.sqlite` (``--results``), so that a run goes on where it stopped. Every
method gets the same samples: one repetition, six data sets, eleven prevalences, up to five folds.
A table is of the samples of these folds, and of methods that have been asked about all of them.
The mean absolute error in points counts each data set the same; CPU seconds are of one thread, for
fitting and answering.

How each peer is used is said at its adapter, and in docs/comparison.md. QuaPy and mlquantify
need labelled negatives and cannot take part.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.calibration import PAPER, Calibrations
from benchmarks.accuracy.paper_samples import Task, experiment_1
from poscount import registry
from poscount.results.prevalence import prevalence_from_joint_prior
from poscount.training.bank import make_bank, read_bank
from research.published import DATASETS
from research.shipped_calibrations import shipped_plan

N_FOLDS, N_PREVALENCES = 5, 11


class Answer(NamedTuple):
    """What a method says, with its 95 % interval if it has one."""

    value: float
    low: float | None = None
    high: float | None = None


class Method(NamedTuple):
    """A row of the table: what it needs, and how to ask it."""

    name: str
    answer: Callable[[Task], Answer]
    package: str = "poscount"
    pip: str = ""


# Ours


def ours(name: str, **parameters: Any) -> Callable[[Task], Answer]:
    def answer(task: Task) -> Answer:
        model = registry.method(name)(random_state=0, **parameters).fit(task.positives)
        found = model.quantify(task.sample)
        ends = (found.interval.low, found.interval.high) if found.interval else ()
        return Answer(float(found), *ends)

    return answer


def trees() -> ExtraTreesClassifier:
    """The classifier that docs/methods.md suggests for DEDPUL and BBE."""
    return ExtraTreesClassifier(200, min_samples_leaf=5, random_state=0)


# Positives and unlabeled rows together, as PU libraries take them


def as_pu(task: Task, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows, standardised and in random order, and which are labelled."""
    rows = StandardScaler().fit_transform(np.vstack([task.positives, task.sample]))
    labels = np.repeat([1, 0], [len(task.positives), len(task.sample)])
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows[order], labels[order]


# pulearn: its prior is over both tables together. Its default classifier is logistic regression.


def pulearn(kind: str, n_resamples: int = 0) -> Callable[[Task], Answer]:
    def answer(task: Task) -> Answer:
        import pulearn

        rows, labels = as_pu(task)
        estimator = getattr(pulearn, kind)().fit(rows, labels)
        sizes = len(task.positives), len(task.sample)
        value = prevalence_from_joint_prior(estimator.result_.pi, *sizes)
        if not n_resamples:
            return Answer(value)
        found = estimator.bootstrap(
            rows, labels, n_resamples=n_resamples, confidence_level=0.95, random_state=0
        ).confidence_interval
        ends = (prevalence_from_joint_prior(end, *sizes) for end in (found.lower, found.upper))
        return Answer(value, *ends)

    return answer


# pu-toolbox: pen-L1 is what its pipeline uses unless told otherwise; it takes the first 200 rows
# for its basis, so rows are shuffled. KM2 is its other estimator, and the base of ReCPE.


def pen_l1(task: Task) -> Answer:
    from pu_toolbox.prior import ClassPriorEstimator

    return Answer(ClassPriorEstimator().fit(*as_pu(task)).estimate())


def km2(task: Task) -> Answer:
    from pu_toolbox.prior import KernelMeanPriorEstimator

    return Answer(KernelMeanPriorEstimator(variant="km2").fit(*as_pu(task)).estimate())


# pythresh: the rows of the sample that are no outliers, by a detector that learned the positives.
# The threshold is found in the scores of the sample, or in those of the positives.


def pythresh(
    thresholder: str, detector: str = "KNN", by_positives: bool = False
) -> Callable[[Task], Answer]:
    def answer(task: Task) -> Answer:
        from pyod.models.iforest import IForest
        from pyod.models.knn import KNN

        module = importlib.import_module(f"pythresh.thresholds.{thresholder.lower()}")
        scaler = StandardScaler().fit(task.positives)
        model = KNN() if detector == "KNN" else IForest(random_state=0)
        model.fit(scaler.transform(task.positives))
        scores = model.decision_function(scaler.transform(task.sample))
        chosen = getattr(module, thresholder)(random_state=0)
        if by_positives:
            outlier = chosen.fit(model.decision_scores_).predict(scores)
        else:
            outlier = chosen.eval(scores)
        return Answer(1 - float(np.mean(outlier)))

    return answer


# PULSNAR. The package is on no index and needs R; this is what its paper and its README describe
# for positives labelled at random (PULSCAR), with its defaults.


def pulscar(classifier: str) -> Callable[[Task], Answer]:
    def answer(task: Task) -> Answer:
        rows, labels = as_pu(task)
        weight = (labels == 0).sum() / (labels == 1).sum()
        if classifier == "xgboost":
            from xgboost import XGBClassifier

            model = XGBClassifier(max_depth=6, scale_pos_weight=weight, random_state=101, n_jobs=1)
        else:
            model = LogisticRegression(max_iter=5000, class_weight={0: 1, 1: weight})
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        scores = cross_val_predict(model, rows, labels, cv=folds, method="predict_proba")[:, 1]
        return Answer(share_by_densities(scores[labels == 1], scores[labels == 0]))

    return answer


def share_by_densities(positive: np.ndarray, unlabeled: np.ndarray) -> float:
    """Where the density of the positives, scaled, begins to exceed that of the sample.

    Densities are beta kernel estimates (Chen, 1999); the bandwidth is that whose density of all
    scores is nearest to their histogram (Jensen-Shannon), and the share is where the logarithm of
    the largest excess above a score of .5 bends most.
    """
    from scipy.spatial.distance import jensenshannon

    scores = np.concatenate([positive, unlabeled])
    width = 3.5 * scores.std() / len(scores) ** (1 / 3)
    n_bins = int(min(512, 2 ** round(np.log2(np.ptp(scores) / width))))
    histogram = np.histogram(scores, np.linspace(0, 1, n_bins + 1))[0]
    at = np.linspace(0, 1, n_bins)
    bandwidth = min(
        np.geomspace(0.01, 0.5, 40),
        key=lambda each: jensenshannon(beta_density(scores, at, each), histogram),
    )
    of_positives, of_sample = (beta_density(x, at, bandwidth) for x in (positive, unlabeled))
    smallest = of_positives.min() or 1e-10
    shares = np.arange(10_000) / 10_000
    upper = at > 0.5
    least = (of_sample[upper] - shares[:, None] * of_positives[upper]).min(axis=1)
    slope = np.diff(np.log10(np.abs(least) + smallest))
    return float(shares[1 + np.abs(np.diff(slope)).argmax()])


def beta_density(scores: np.ndarray, at: np.ndarray, bandwidth: float) -> np.ndarray:
    inside = np.clip(scores, 1e-12, 1 - 1e-12)
    log_up, log_down = np.log(inside), np.log1p(-inside)
    # Point by point, because a large sample times all points would not fit into memory.
    density = np.array(
        [
            np.exp(up * log_up + down * log_down - betaln(up + 1, down + 1)).mean()
            for up, down in zip(at / bandwidth, (1 - at) / bandwidth, strict=True)
        ]
    )
    return density / density.sum()


PULEARN = ("pulearn", "pulearn==0.2.0")
PU_TOOLBOX = ("pu_toolbox", "pu-toolbox==1.11.0")
PYTHRESH = ("pythresh", "pythresh==1.1.1 scikit-lego")
METHODS = [
    Method("RCQ, null calibration", ours("rcq", calibration="null")),
    Method("TRCQ, null calibration", ours("trcq", calibration="null")),
    Method("PAT", ours("pat")),
    Method("DEDPUL (ours)", ours("dedpul")),
    Method("BBE (ours)", ours("bbe")),
    Method("DEDPUL (ours), trees", ours("dedpul", classifier=trees())),
    Method("BBE (ours), trees", ours("bbe", classifier=trees())),
    Method("PULSCAR (our reading), xgboost", pulscar("xgboost"), "xgboost", "xgboost"),
    Method("PULSCAR (our reading), logistic regression", pulscar("logistic regression")),
    Method("pu-toolbox pen-L1", pen_l1, *PU_TOOLBOX),
    Method("pu-toolbox KM2", km2, *PU_TOOLBOX),
    Method("pulearn HistogramMatch", pulearn("HistogramMatchPriorEstimator"), *PULEARN),
    Method("pulearn ScarEM", pulearn("ScarEMPriorEstimator"), *PULEARN),
    Method(
        "pulearn bootstrap of HistogramMatch",
        pulearn("HistogramMatchPriorEstimator", 200),
        *PULEARN,
    ),
    Method("pythresh MIXMOD on KNN", pythresh("MIXMOD"), *PYTHRESH),
    Method("pythresh FILTER on KNN", pythresh("FILTER"), *PYTHRESH),
    Method("pythresh META on KNN", pythresh("META"), *PYTHRESH),
    Method("pythresh CLF on KNN", pythresh("CLF"), *PYTHRESH),
    Method("pythresh FILTER by positives", pythresh("FILTER", by_positives=True), *PYTHRESH),
    Method("pythresh CLF by positives", pythresh("CLF", by_positives=True), *PYTHRESH),
    Method("pythresh REGR by positives", pythresh("REGR", by_positives=True), *PYTHRESH),
    Method("pythresh REGR on IForest", pythresh("REGR", "IForest"), *PYTHRESH),
    Method("pythresh IForest, REGR by positives", pythresh("REGR", "IForest", True), *PYTHRESH),
]
LEFT_OUT = "RCQ, calibrated without the data set"


def samples(n_folds: int) -> Iterator[tuple[str, int, int, Task]]:
    """Data set, fold, tenth and task of each sample: the first fold of all sets, then the next."""
    tasks = {letter: list(experiment_1(letter, 0)) for letter in DATASETS}
    for fold in range(n_folds):
        for letter in DATASETS:
            for tenth in range(N_PREVALENCES):
                yield letter, fold, tenth, tasks[letter][fold * N_PREVALENCES + tenth]


class Results:
    """Answers in a SQLite file; an answer that is there is not asked for again."""

    def __init__(self, path: Path) -> None:
        self.file = sqlite3.connect(path)
        self.file.execute(
            "create table if not exists answers (method, letter, fold int, tenth int, truth real, "
            "value real, low real, high real, seconds real, error, "
            "primary key (method, letter, fold, tenth))"
        )

    def known(self, method: str) -> set[tuple[str, int, int]]:
        """Samples that a method has been asked about."""
        found = self.file.execute(
            "select letter, fold, tenth from answers where method = ?", (method,)
        )
        return set(found)

    def add(self, method: str, place: list, task: Task, ask: Callable) -> None:
        """Ask, and keep the answer, what it took, and the error if there is none."""
        start = time.process_time()
        answer, error = Answer(np.nan), None
        try:
            answer = ask(task)
        except Exception as problem:  # a peer's failure is a result, too
            error = f"{type(problem).__name__}: {problem}"
        seconds = time.process_time() - start
        value = answer.value if np.isfinite(answer.value) else None
        row = (method, *place, task.truth, value, answer.low, answer.high, seconds, error)
        self.file.execute(f"insert into answers values ({', '.join('?' * len(row))})", row)
        self.file.commit()

    def print_table(self, n_folds: int) -> None:
        """Methods that were asked about all samples of these folds, by their errors."""
        found = self.file.execute(
            "select method, letter, tenth, abs(value - truth), low - 1e-9 <= truth and truth <= "
            "high + 1e-9, high - low, seconds from answers where fold < ?",
            (n_folds,),
        )
        by_method: dict[str, list[tuple]] = {}
        for method, *numbers in found:
            by_method.setdefault(method, []).append(tuple(numbers))
        lines = []
        for method, rows in by_method.items():
            if len(rows) < n_folds * N_PREVALENCES * len(DATASETS):
                continue
            letters = np.array([row[0] for row in rows])
            tenth, error, held, width, seconds = np.array([row[1:] for row in rows], float).T
            by_set = [100 * np.nanmean(error[letters == letter]) for letter in DATASETS]
            ends = np.isfinite(width)
            halves = [100 * np.nanmean(error[part]) for part in (tenth < 5, tenth > 5)]
            cells = [f"{each:.1f}" for each in by_set] + [f"**{np.mean(by_set):.2f}**"]
            cells += [f"{each:.1f}" for each in halves]
            cells += [f"{held[ends].mean():.2f}" if ends.any() else ""]
            cells += [f"{100 * width[ends].mean():.0f}" if ends.any() else ""]
            cells += [f"{seconds.mean():.3f}", str(np.isnan(error).sum())]
            lines.append((np.mean(by_set), f"| {method} | {' | '.join(cells)} |"))
        heads = [*DATASETS, "mean", "p < .5", "p > .5"]
        heads += ["95 % held", "width", "CPU s", "failures"]
        print(f"| method | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
        print("\n".join(line for _, line in sorted(lines)))


def left_out(bank: Path) -> Callable[[str], Callable[[Task], Answer]]:
    """RCQ for each data set, calibrated by the samples of all others and their kin."""
    calibrations = Calibrations(read_bank(sorted(bank.glob("*.bank"))), n_jobs=1)
    made = {letter: calibrations.without(PAPER[letter]) for letter in DATASETS}
    return lambda letter: ours("rcq", calibration=made[letter])


def make_small_bank(folder: Path) -> None:
    """About a seventh of the tasks that the shipped calibration is learned from."""
    plan = [(source, min(n, max(100, 100 * round(n / 1000)))) for source, n in shipped_plan("RCQ")]
    make_bank(folder, "RCQ", plan, n_jobs=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("peers.sqlite"))
    parser.add_argument("--folds", type=int, choices=range(1, N_FOLDS + 1), default=N_FOLDS)
    parser.add_argument("--only", nargs="+", default=[""], help="how names begin, in this order")
    parser.add_argument("--bank", type=Path)
    parser.add_argument("--make-bank", type=Path)
    parser.add_argument("--print-only", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.make_bank:
        make_small_bank(options.make_bank)
        return
    results = Results(options.results)
    if not options.print_only:
        with threadpool_limits(1):
            ask_all(results, options)
    results.print_table(options.folds)


def ask_all(results: Results, options: argparse.Namespace) -> None:
    tasks = list(samples(options.folds))
    for method in [
        each for begin in options.only for each in METHODS if each.name.startswith(begin)
    ]:
        if importlib.util.find_spec(method.package) is None:
            print(f"{method.name}: not installed; pip install {method.pip}")
            continue
        ask(results, method.name, tasks, lambda _, method=method: method.answer)
    if options.bank and LEFT_OUT.startswith(tuple(options.only)):
        ask(results, LEFT_OUT, tasks, left_out(options.bank))


def ask(results: Results, name: str, tasks: list, answer_of: Callable) -> None:
    known = results.known(name)
    missing = [sample for sample in tasks if sample[:3] not in known]
    for letter, _, _, task in missing[:1]:
        with contextlib.suppress(Exception):
            answer_of(letter)(task)  # imports and compiles
    for *place, task in missing:
        results.add(name, place, task, answer_of(place[0]))


if __name__ == "__main__":
    main()
