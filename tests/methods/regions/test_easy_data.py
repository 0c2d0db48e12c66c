"""Data that a histogram answers: RCQ must not be farther off than chance explains."""

import numpy as np
import pytest

from benchmarks.accuracy.easy import CASES, draw
from poscount import RCQ

# Where there are not twenty, because many rows take long.
SEEDS = {"20,000 labels": 2, "50,000 labels": 2}


@pytest.mark.parametrize("name", CASES)
def test_values_are_right_and_intervals_hold(name):
    case, errors, held, lower_ends = CASES[name], [], [], []
    for seed in range(SEEDS.get(name, 20)):
        positives, sample = draw(case, seed)
        model = RCQ(random_state=0).fit(positives)
        p = model.quantify(sample)
        told = model.set_params(recognisable=True).quantify(sample)
        errors.append([float(p) - case.truth, float(told) - case.truth])
        held.append([case.truth in p.interval, case.truth in told.interval])
        lower_ends.append([p.interval.low, told.interval.low])
    # The null calibration's error is about two points for 400 positives and 1,000 rows.
    assert (np.abs(errors).mean(axis=0) < 0.035).all()
    assert (np.mean(held, axis=0) >= 0.9).all()
    plain, recognisable = np.mean(lower_ends, axis=0)
    # Only the user can rule out that negatives look like positives.
    assert recognisable > plain
    assert recognisable > 0.4 * case.truth
