"""The samples of the experiments: sizes, truths, independence of order, and clear refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poscount.errors import InputError
from research.datasets import DataSet
from research.experiments import artificial_prevalences, protocols
from research.experiments.protocols import Place


def made(sizes, positive="a"):
    """A data set whose only feature is the row's number, so that rows can be recognised."""
    labels = np.repeat(list(sizes), list(sizes.values()))
    features = np.arange(len(labels), dtype=float)[:, np.newaxis]
    return DataSet("made", "made", features, labels, positive, ("row",), "")


def drawn(dataset, place, seed=0):
    positives, samples = protocols.draw(dataset, place, seed)
    return positives, list(samples)


def numbers(rows):
    return rows[:, 0].astype(int)


@pytest.mark.parametrize("experiment", ["1", "2", "2large", "3", "4"])
def test_every_prevalence_and_repetition_has_folds_of_its_own(experiment):
    dataset = made({"a": 400, "b": 300, "c": 500})
    labeled = {}
    for place in protocols.places(experiment, dataset, 2):
        for positives, sample in protocols.evaluations(dataset, place, 0):
            rows = numbers(sample.rows)
            assert dataset.is_positive[numbers(positives)].all()
            assert len(set(rows)) == len(rows)
            assert not set(rows) & set(numbers(positives))
            assert dataset.is_positive[rows].mean() == sample.truth
            assert 0 <= sample.point / 10 - sample.truth < 2 / len(rows)
            at = labeled.setdefault((place.negative, place.repetition, sample.point), [])
            at.append(tuple(sorted(numbers(positives))))
    firsts = [folds[0] for folds in labeled.values()]
    assert len(set(firsts)) == len(firsts)
    for folds in labeled.values():
        # The folds of one prevalence are disjoint, and together all positives.
        together = [row for fold in folds for row in fold]
        assert len(set(together)) == len(together)
        assert experiment == "4" or len(together) == 400


def test_evaluations_depend_on_the_seed_and_the_place_alone():
    dataset = made({"a": 200, "b": 200, "c": 200})
    places = list(protocols.places("2", dataset, 2))
    forwards = {place: list(protocols.evaluations(dataset, place, 0)) for place in places}
    backwards = {place: list(protocols.evaluations(dataset, place, 0)) for place in places[::-1]}
    for place in places:
        for one, other in zip(forwards[place], backwards[place], strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1].rows, other[1].rows)
    ((other, _), *_) = protocols.evaluations(dataset, places[0], 1)
    assert not np.array_equal(other, forwards[places[0]][0][0])


def test_sizes_of_experiment_1():
    dataset = made({"a": 400, "b": 3000})
    positives, samples = drawn(dataset, Place("1", "made", "", 0, 2))
    # The fold's positives are labelled, all of the others' can be drawn.
    size = 400 - len(positives)
    assert {len(sample.rows) for sample in samples} == {size}
    truths = [np.floor(size * i / 10) / size for i in range(11)]
    assert [sample.truth for sample in samples] == truths


def test_limits_of_rows():
    dataset = made({"a": 6000, "b": 6000})
    positives, samples = drawn(dataset, Place("1", "made", "", 0, 0))
    assert len(positives) == 500
    assert {len(sample.rows) for sample in samples} == {2000}
    for experiment, size in {"2": 500, "2large": 2000}.items():
        _, samples = drawn(dataset, Place(experiment, "made", "", 0, 0))
        assert max(len(sample.rows) for sample in samples) == size


def test_experiment_3_has_one_negative_sub_class_at_a_time():
    dataset = made({"a": 300, "b": 300, "c": 300})
    for place in protocols.places("3", dataset, 1):
        _, samples = drawn(dataset, place)
        for sample in samples:
            assert set(dataset.labels[numbers(sample.rows)]) <= {"a", place.negative}
    assert [place.negative for place in protocols.places("3", dataset, 1)] == ["b"] * 5 + ["c"] * 5


def test_experiment_2_varies_the_negatives():
    dataset = made({"a": 700, "b": 700, "c": 700})
    shares = []
    for place in protocols.places("2", dataset, 6):
        _, samples = drawn(dataset, place)
        labels = dataset.labels[numbers(samples[0].rows)]
        shares.append(np.mean(labels == "b"))
    # w / (w + v) of two uniform weights: mean 1/2, standard deviation .22.
    assert np.mean(shares) == pytest.approx(0.5, abs=4 * 0.22 / np.sqrt(30))
    assert 0.15 < np.std(shares) < 0.3


def test_experiment_2_shrinks_when_a_sub_class_runs_out():
    dataset = made({"a": 900, "b": 12, "c": 900})
    sizes = []
    for place in protocols.places("2", dataset, 4):
        _, samples = drawn(dataset, place)
        for sample in samples:
            # The prevalence that was asked for survives the shrinking.
            assert 0 <= sample.point / 10 - sample.truth < 2 / len(sample.rows)
            assert np.sum(dataset.labels[numbers(sample.rows)] == "b") <= 12
        sizes.append(len(samples[0].rows))
    # A twelfth of what would otherwise be drawn, if the weights are equal.
    assert min(sizes) < 25
    assert max(sizes) < 500


def test_experiment_4_times_the_samples_of_experiment_1():
    dataset = made({"a": 200, "b": 200})
    (place,) = protocols.places("4", dataset)
    one = drawn(dataset, Place("1", "made", "", 0, 0))
    four = drawn(dataset, place)
    np.testing.assert_array_equal(one[0], four[0])
    for a, b in zip(one[1], four[1], strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)


def test_more_repetitions_add_to_the_fewer():
    dataset = made({"a": 200, "b": 200})
    few, many = (list(protocols.places("1", dataset, n)) for n in (2, 5))
    assert few == many[: len(few)]


@pytest.mark.parametrize(
    ("sizes", "experiment", "sentence"),
    [
        ({"a": 20, "b": 500}, "1", r"at least 10 positives in the fold .*'made' has \d .*20 posit"),
        ({"a": 500, "b": 8}, "1", "at least 10 negatives in the other folds .* has [5-8] "),
        (
            {"a": 500, "b": 300, "c": 6},
            "3",
            "at least 10 negatives of sub-class 'c' in the other folds",
        ),
    ],
)
def test_too_few_rows_say_which_number_is_too_small(sizes, experiment, sentence):
    dataset = made(sizes)

    def check_all():
        for place in protocols.places(experiment, dataset, 1):
            protocols.check(dataset, place, 0)

    with pytest.raises(InputError, match=sentence):
        check_all()


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(ValueError, match=r"no experiment '5'.*are 1, 2, 2large, 3, 4"):
        next(protocols.places("5", made({"a": 100, "b": 100})))


@given(
    n_rows=st.integers(1, 40),
    prevalences=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_artificial_prevalences(n_rows, prevalences, seed):
    rows = np.arange(80)[:, np.newaxis]
    is_positive = rows[:, 0] % 2 == 0

    def draw():
        return list(
            artificial_prevalences(
                rows,
                is_positive,
                n_rows=n_rows,
                prevalences=prevalences,
                repetitions=2,
                random_state=seed,
            )
        )

    samples = draw()
    assert len(samples) == 2 * len(prevalences)
    for sample, prevalence in zip(samples, np.repeat(prevalences, 2), strict=True):
        assert sample.rows.shape == (n_rows, 1)
        assert len(np.unique(sample.rows)) == n_rows
        assert is_positive[sample.rows[:, 0]].mean() == sample.truth
        assert abs(sample.truth - prevalence) <= 0.5 / n_rows + 1e-12
    for a, b in zip(samples, draw(), strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_artificial_prevalences_of_frames(library):
    frame = pytest.importorskip(library).DataFrame({"x": np.arange(20.0)})
    (sample,) = artificial_prevalences(
        frame, np.arange(20) < 10, n_rows=8, prevalences=[0.25], random_state=0
    )
    assert type(sample.rows) is type(frame)
    assert sum(sample.rows["x"] < 10) == 2


def test_artificial_prevalences_refuse_in_one_sentence():
    rows = np.zeros((10, 2))
    with pytest.raises(ValueError, match="true or false for each of the 10 rows"):
        next(artificial_prevalences(rows, np.zeros(9, bool), n_rows=2))
    with pytest.raises(ValueError, match="true or false"):
        next(artificial_prevalences(rows, np.zeros(10), n_rows=2))
    known = np.arange(10) < 3
    with pytest.raises(ValueError, match="needs 5 positives, and there are 3: draw smaller"):
        list(artificial_prevalences(rows, known, n_rows=5, prevalences=[1.0]))
    with pytest.raises(ValueError, match=r"prevalences\[1\] is 1.2"):
        list(artificial_prevalences(rows, known, n_rows=2, prevalences=[0.5, 1.2]))
