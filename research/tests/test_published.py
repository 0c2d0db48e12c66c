"""The published numbers, on the paper's own data and protocol, within their noise."""

import sys
from pathlib import Path

import numpy as np
import pytest

from poscount import registry
from research.datasets import data_directory

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import paper_data

pytestmark = pytest.mark.skipif(
    not (data_directory().is_dir() and (paper_data.SHARED / "reference").is_dir()),
    reason="the paper's data are not here: set POSCOUNT_DATA to their folder",
)


def errors(method, letter, repetitions):
    """Mean absolute error of each fold, in points."""
    means = []
    for repetition in range(repetitions):
        folds = {}
        for task in paper_data.experiment_1(letter, repetition):
            if task.fold not in folds:
                folds[task.fold] = []
                model = registry.method(method)(random_state=repetition).fit(task.positives)
            folds[task.fold].append(100 * abs(model.quantify(task.sample) - task.truth))
        means += [np.mean(values) for values in folds.values()]
    return np.array(means)


@pytest.mark.parametrize(
    ("method", "column"),
    [("pat", "PAT_M"), ("odin", "ODIn_M"), ("tice", "TIcE"), ("extice", "ExTIcE")],
)
def test_one_repetition_is_within_its_noise_of_the_paper(method, column):
    means = errors(method, "W", 1)
    published = paper_data.published(column)["W"]
    # Four standard errors of five folds, and as much again for the paper's own five repetitions.
    noise = 4 * means.std(ddof=1) / np.sqrt(5) * np.sqrt(1 + 1 / 5)
    assert abs(means.mean() - published) < noise
    # Which is not so wide that anything would pass.
    assert noise < 4


@pytest.mark.slow
@pytest.mark.parametrize("letter", paper_data.PAPER_SETS)
@pytest.mark.parametrize(
    ("method", "column", "repetitions", "points", "share"),
    [
        # Thirty repetitions: the mean of five has a standard deviation of 0.4 points on letter.
        ("pat", "PAT_M", 30, 0.5, 0),
        ("odin", "ODIn_M", 5, 1.0, 0),
        ("tice", "TIcE", 5, 0.7, 0.1),
        ("extice", "ExTIcE", 5, 0.7, 0.1),
    ],
)
def test_the_paper_s_table(method, column, repetitions, points, share, letter):
    published = paper_data.published(column)[letter]
    difference = errors(method, letter, repetitions).mean() - published
    assert abs(difference) <= max(points, share * published)
