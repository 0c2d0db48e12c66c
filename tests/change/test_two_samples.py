"""Two samples compared: the interval of the difference, and overlap told from drift."""

import numpy as np
import pytest

from poscount import PAT, RCQ
from poscount.change.two_samples import compare_samples
from two_clusters import halves, separate


def overlapping(rng, n):
    return halves(rng, n, first=0.0)


def compared(seed, p_1, p_2, negatives, first=0.5):
    """150 positives; two samples of 800 rows each."""
    rng = np.random.default_rng(seed)
    model = RCQ(random_state=0).fit(halves(rng, 150))
    counts = []
    for p in (p_1, p_2):
        n_positive = round(800 * p)
        rows = [halves(rng, n_positive, first), negatives(rng, 800 - n_positive)]
        counts.append(model.count(np.vstack(rows)))
    return compare_samples(model, *counts)


@pytest.mark.parametrize("negatives", [separate, overlapping])
def test_the_interval_covers_and_is_narrower(negatives):
    pairs = [(0.6, 0.3), (0.3, 0.3), (0.1, 0.05), (0.2, 0.5)]
    found = [
        (p, q, compared([seed, i], p, q, negatives))
        for i, (p, q) in enumerate(pairs)
        for seed in range(6)
    ]
    held = [p - q - 1e-9 <= c.interval.high and p - q + 1e-9 >= c.interval.low for p, q, c in found]
    # 24 x .95 = 23, less three standard deviations.
    assert sum(held) >= 19
    widths = [c.interval.width for *_, c in found]
    apart = [np.hypot(*(p.interval.width for p in c.prevalences)) for *_, c in found]
    assert np.mean(widths) < 0.7 * np.mean(apart)


def test_order_turns_the_sign():
    rng = np.random.default_rng(0)
    model = RCQ(random_state=0).fit(halves(rng, 150))
    a, b = model.count(halves(rng, 500)), model.count(separate(rng, 500))
    assert compare_samples(model, a, b).difference == -compare_samples(model, b, a).difference
    assert compare_samples(model, b, a).difference < -0.9


def test_overlap_and_drift_are_told_apart():
    overlap = [compared(seed, 0.7, 0.3, overlapping).reading for seed in range(8)]
    drift = [compared(seed, 0.7, 0.3, separate, first=0.15).reading for seed in range(8)]
    clean = [compared(seed, 0.7, 0.3, separate).reading for seed in range(8)]
    assert overlap.count("overlap") >= 7
    assert drift.count("drift") >= 6
    assert clean.count("clean") >= 6
    assert "PAT" in str(compared(0, 0.7, 0.3, overlapping))


def test_only_rcq_has_regions(positives, sample):
    model = PAT(random_state=0).fit(positives)
    with pytest.raises(TypeError, match="this is a PAT"):
        compare_samples(model, model.count(sample), model.count(sample))
