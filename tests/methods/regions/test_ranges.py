"""Rows outside of the range of the positives' features, and rows far away from all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from poscount import RCQ
from poscount.methods.regions.ranges import BEYOND, N_COLUMNS, count_outside, learn_limits

RNG = np.random.default_rng(0)
POSITIVES = RNG.normal(size=(200, 3)) * [1, 10, 0.01]


def counted(model, sample):
    """Counts side the regions, without the dimension of the samples."""
    return model._view(model.count(sample)).side


def plainly(positives, sample):
    """The definition, feature by feature and row by row."""
    table = np.zeros((positives.shape[1], N_COLUMNS), int)
    for j in range(positives.shape[1]):
        low, high, sd = positives[:, j].min(), positives[:, j].max(), positives[:, j].std()
        for x in sample[:, j]:
            for k, beyond in enumerate(BEYOND):
                table[j, k] += x < low - beyond * sd
                table[j, len(BEYOND) + k] += x > high + beyond * sd
            table[j, -1] += x == 0
    return table


@given(arrays(float, (17, 3), elements=st.floats(-2000, 2000).map(lambda x: round(x, 1))))
def test_agrees_with_the_definition(sample):
    flat = np.zeros(3 * N_COLUMNS, np.int64)
    count_outside(np.ascontiguousarray(sample.T), learn_limits(POSITIVES), None, flat)
    assert flat.reshape(3, -1).tolist() == plainly(POSITIVES, sample).tolist()


def test_rows_are_counted_where_they_lie():
    model = RCQ(random_state=0).fit(POSITIVES)
    low, high = POSITIVES[:, 1].min(), POSITIVES[:, 1].max()
    sd = POSITIVES[:, 1].std()
    values = [high + 0.5 * sd, high + 2 * sd, high + 100 * sd, low - 1000 * sd, 0.0]
    sample = np.zeros((5, 3)) + POSITIVES.mean(axis=0)
    sample[:, 1] = values
    outside = counted(model, sample).ranges
    assert outside.above[0, 1].tolist() == [2, 1, 1, 0]
    assert outside.below[0, 1].tolist() == [1, 1, 1, 1]
    assert outside.zeros[0].tolist() == [0, 1, 0]
    assert not outside.above[0, [0, 2]].any()


def test_the_positives_themselves_are_inside():
    model = RCQ(random_state=0).fit(POSITIVES)
    side = counted(model, POSITIVES)
    assert not side.ranges.below.any()
    assert not side.ranges.above.any()


def test_far_rows():
    model = RCQ(random_state=0).fit(POSITIVES)
    sample = np.array([[0, 0, 0], [8, 0, 0], [1e9, 0, 0]])
    # The farthest of 200 positives is between 3 and 4.9 standard deviations away.
    assert counted(model, sample).far.tolist() == [[2, 1, 1]]


def test_groups_and_features_that_are_not_cut():
    positives = RNG.normal(size=(100, 60))
    model = RCQ(random_state=0).fit(positives)
    assert len(model.part_.features_) == 40
    sample = RNG.normal(size=(500, 60))
    sample[::7] *= 100
    groups = np.arange(500) % 3
    cells = model._count_rows(model._sample(sample), groups, 3)
    for i in range(3):
        assert (cells[i] == model.count(sample[groups == i]).cells).all()
    assert (counted(model, sample).ranges.above[0, :, 0] > 20).all()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_of_any_scale(scale):
    assert learn_limits(POSITIVES * scale) == pytest.approx(learn_limits(POSITIVES) * scale)


def test_a_constant_feature_has_a_range():
    low, _, _, _, high, *_ = learn_limits(np.full((5, 1), -3.0))[0]
    assert (low, high) == (-6, 0)
    low, _, _, _, high, *_ = learn_limits(np.zeros((5, 1)))[0]
    assert (low, high) == (-1, 1)
