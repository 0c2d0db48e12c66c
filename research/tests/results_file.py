"""Results files with known answers, for the tests of the report."""

import numpy as np

from research.experiments.store import Evaluation, Store


def points(error, *, curve=None, low=None, high=None, failed=(), seconds=1.0):
    """Answers for the eleven prevalences: truth plus `error` in points, alternately below it."""

    def answer(experiment, dataset, method, negative, repetition, fold, point):
        truth = point / 10
        signed = error(repetition, fold) / 100 * (-1) ** point
        fails = point in failed
        return Evaluation(
            *(experiment, dataset, method, negative, repetition, fold, point),
            truth=truth,
            n_unlabeled=500,
            estimate=None if fails or curve else truth + signed,
            low=None if low is None else truth + low,
            high=None if high is None else truth + high,
            curve=curve(truth).astype("<f8").tobytes() if curve else None,
            error="it <broke> & stopped" if fails else None,
            fit_seconds=0.5,
            seconds=seconds,
        )

    return answer


def same(error, **options):
    """Answers with the same absolute error everywhere."""
    return points(lambda repetition, fold: error, **options)


def write(path, cells, *, repetitions=2, folds=2, n_points=11):
    """Write a results file from answers by (experiment, dataset, method[, negative])."""
    with Store(path, seed=7) as store:
        store.begin("python -m research reproduce 1 <2>")
        for dataset in dict.fromkeys(key[1] for key in cells):
            store._connection.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?, ?)",
                (dataset, f"title of {dataset}", "0" * 64, 1000, 10, 300),
            )
        for key, answer in cells.items():
            place = key if len(key) == 4 else (*key, "")
            n_repetitions, n_folds = (1, 1) if place[0] == "4" else (repetitions, folds)
            store.add(
                [
                    answer(*place, repetition, fold, point)
                    for repetition in range(n_repetitions)
                    for fold in range(n_folds)
                    for point in range(n_points)
                ]
            )
    return path


def threshold_curve(best):
    """A curve that is right at one percentile, and wrong by a tenth of a point for each beside."""
    return lambda truth: truth + np.abs(np.arange(101) - best) / 1000
