"""Seeds: everything random in a model follows from one number, and from nothing else."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection

from import_walk import SOURCE
from poscount import PAT
from poscount.seeds import own_global_generator, seed_of, seed_scorer
from stream_names import StreamNames

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


class Moody(BaseEstimator):
    """A detector that draws from numpy's global generator, and has no `random_state`."""

    def fit(self, X, y=None):
        self.direction_ = np.random.normal(size=X.shape[1])  # noqa: NPY002
        return self

    def score_samples(self, X):
        return -np.abs(X @ self.direction_)


def test_a_scorer_that_draws_from_the_global_generator_follows_the_seed(positives):
    models = [PAT(Moody(), random_state=seed).fit(positives) for seed in (0, 0, 1)]
    directions = [model.scorer_.direction_.tolist() for model in models]
    assert directions[0] == directions[1] != directions[2]
    assert models[0].hash_ == models[1].hash_ != models[2].hash_


def test_the_global_generator_is_as_before_even_after_an_error():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    with pytest.raises(ZeroDivisionError), own_global_generator(0):
        1 / np.random.randint(1)  # noqa: NPY002
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_every_part_of_a_pipeline_gets_a_seed_of_its_own():
    seeds = set()
    for seed in range(100):
        scorer = make_pipeline(GaussianRandomProjection(2), IsolationForest())
        seed_scorer(scorer, seed)
        seeds |= {step.random_state for _, step in scorer.steps}
    # 200 draws from two thousand million numbers.
    assert len(seeds) == 200
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)


def test_a_seed_that_is_set_stays():
    scorer = make_pipeline(GaussianRandomProjection(2, random_state=5), IsolationForest())
    seed_scorer(scorer, 0)
    assert scorer.steps[0][1].random_state == 5


@pytest.mark.parametrize(
    "random_state",
    [lambda i: None, lambda i: np.random.default_rng(i), lambda i: np.random.RandomState(i)],
    ids=["None", "Generator", "RandomState"],
)
def test_seeds_are_drawn_from_all_of_32_bits(random_state):
    seeds = np.array([seed_of(random_state(i)) for i in range(400)])
    assert len(set(seeds.tolist())) == 400
    # Each bit is set in about half of them: 200, give or take 10; five times that is no chance.
    bits = (seeds[:, np.newaxis] >> np.arange(32)) & 1
    assert (np.abs(bits.sum(axis=0) - 200) < 50).all()
    assert seeds.max() < 2**32


# What is computed is {}: numbers, and the names of data sets and of what the paper samples.
STREAMS = [
    "audit",
    "audit order",
    "bootstrap {}",
    "calibration {}",
    "clusters",
    "diagnose copies",
    "distribution",
    "estimate",
    "evaluate a threshold",
    "evaluate the area under ROC",
    "evaluate the area under precision",
    "features",
    "folds",
    "global",
    "interval",
    "kinds",
    "learned direction",
    "learned score",
    "limit",
    "member {}",
    "own order",
    "projection",
    "recording",
    "row codes",
    "scorer",
    "some rows",
    "vowels-network",
    "{}",
    "{} {}",
    "{} {} groups",
    "{} {} lines",
    "{} {} recognisable",
    "{} {} verdict",
    "{}/folds",
    "{}/negatives",
    "{}/positives",
    "{}/{}",
]


def test_no_random_stream_has_another_name():
    """A name is part of the seed: renaming one changes answers."""
    files = [*SOURCE.rglob("*.py"), *(SOURCE.parents[1] / "research").rglob("*.py")]
    assert StreamNames(files).found() == STREAMS


def test_names_of_streams_are_followed(tmp_path):
    source = """
PREFIX = "a"
def draw(seed, name, kind="x"):
    return stream(seed, f"{name} of {PREFIX}")
def more(seed):
    stream(seed, "plain")
    rng.stream(seed)
    stream(seed, f"number {seed}")
    draw(seed, "first")
    draw(seed, name="second")
    [draw(seed, word) for word, _ in (("third", 1), ("fourth", 2))]
def computed(seed, stem):
    stem = f"{stem}/more"
    stream(seed, stem)
"""
    (tmp_path / "source.py").write_text(source)
    expected = ["first of a", "fourth of a", "number {}", "plain", "second of a", "third of a"]
    assert StreamNames([tmp_path / "source.py"]).found() == [*expected, "{}"]
