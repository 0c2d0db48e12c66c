"""The constructed overlaps: their sizes, their seeds, and that they do what they are for."""

import numpy as np
import pytest

from poscount import PAT
from research.datasets import load, overlaps


@pytest.mark.parametrize("name", overlaps.NAMES)
def test_two_thousand_of_each_and_the_same_every_time(name, global_generator_untouched):
    data = load(name)
    assert data.is_positive.sum() == (~data.is_positive).sum() == 2000
    assert np.isfinite(data.features).all()
    assert data.features.shape[1] == len(data.feature_names)
    again = load(name)
    assert np.array_equal(data.features, again.features)
    assert data.sha256 == again.sha256
    assert overlaps.generate(name, seed=1).sha256 != data.sha256


@pytest.mark.parametrize("name", overlaps.NAMES)
def test_pat_cannot_see_the_overlapping_negatives(name):
    data = load(name)
    positives, negatives = data.features[data.is_positive], data.features[~data.is_positive]
    model = PAT(random_state=0).fit(positives[:500])
    share = 0.5 if name == "overlap-half" else 1.0
    # Without any positive in the sample, the truth is 0.
    assert model.quantify(negatives) == pytest.approx(share, abs=0.1)
    mixed = np.concatenate([positives[500:], negatives[:1500]])
    assert model.quantify(mixed) == pytest.approx((1 + share) / 2, abs=0.1)


def nearest(rows, centres):
    return np.argmin(((rows[:, None, :2] - centres) ** 2).sum(axis=2), axis=1)


def without_negatives(name, positives, negatives):
    """Rows in the region that the generator's docstring names."""
    if name in ("overlap-cluster", "overlap-half"):
        # The corners of the triangle, again from the text: sides of 8, the first on the x axis.
        radius = 8 / np.sqrt(3)
        centres = np.array([[radius, 0], [-radius / 2, 4], [-radius / 2, -4]])
        return nearest(positives, centres) > 0, nearest(negatives, centres) > 0
    if name == "overlap-inside":
        whiten = np.linalg.inv(np.linalg.cholesky(np.cov(positives.T)))
        centre = positives.mean(axis=0)
        return tuple(
            np.linalg.norm((rows - centre) @ whiten.T, axis=1) > 1.6
            for rows in (positives, negatives)
        )
    if name == "overlap-heavy-tails":
        # The rotation is not known here, but it turns the mean of the negatives towards the axis.
        axis = np.median(negatives, axis=0) - np.median(positives, axis=0)
        return positives @ axis < 0, negatives @ axis < 0
    if name == "overlap-50-features":
        return positives[:, :10].sum(axis=1) < 0, negatives[:, :10].sum(axis=1) < 0
    return positives[:, 0] < -1, negatives[:, 0] < -1


@pytest.mark.parametrize("name", overlaps.NAMES)
def test_a_region_holds_positives_and_no_negatives(name):
    data = load(name)
    own, others = without_negatives(
        name, data.features[data.is_positive], data.features[~data.is_positive]
    )
    assert own.mean() > 0.4
    assert others.mean() < 0.002


def test_the_noise_features_of_one_of_25_tell_nothing():
    data = load("overlap-one-of-25")
    noise = data.features[:, 1:]
    differences = noise[data.is_positive].mean(axis=0) - noise[~data.is_positive].mean(axis=0)
    # Twenty-four differences with a standard deviation of sqrt(2 / 2000) each.
    assert np.abs(differences).max() < 4.5 * np.sqrt(2 / 2000)
