"""Samples of another make: each spoilt in a known way, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from poscount import RCQ, TRCQ
from poscount.checks import ColumnEvidence, Evidence, PositiveColumns
from poscount.checks.columns import has_a_scale, largest_shares
from poscount.checks.copies import MOST_COPIES, REPEATED_POSITIVES
from poscount.checks.exchanged_columns import EXCHANGED_COLUMNS
from poscount.checks.few_positives import covariance_bias
from poscount.checks.missing_code import MISSING_CODE
from poscount.checks.nothing_like_positives import NOTHING_LIKE_POSITIVES
from poscount.checks.other_units import OTHER_UNITS
from poscount.results.verdict import NO_DOUBT

MAKE = {
    *("other-units", "missing-code", "exchanged-columns"),
    *("nothing-like-positives", "repeated-positives"),
}
NAMES = ["length", "width", "speed", "angle", "mass", "heat"]
N_LABELED, N_ROWS = 300, 800
RNG = np.random.default_rng(0)
# Far from each other in their locations and scales, and correlated.
CENTRE = np.array([10.0, -20.0, 300.0, 5.0, 0.5, 40.0])
SCALE = np.array([1.0, 2.0, 30.0, 0.2, 0.05, 5.0])
MIXING = RNG.normal(size=(6, 6)) / 2 + np.eye(6)


def positives(rng, n):
    rows = rng.normal(size=(n, 6)) @ MIXING
    return CENTRE + SCALE * rows / np.sqrt((MIXING**2).sum(axis=0))


def negatives(rng, n):
    """Larger than the positives in some columns, smaller in others."""
    return positives(rng, n) + SCALE * np.array([4.0, -3.0, 3.0, -3.0, -3.5, -4.0])


def sample_of(rng, p=0.7, n=N_ROWS):
    n_positive = round(p * n)
    return np.vstack([positives(rng, n_positive), negatives(rng, n - n_positive)])


@pytest.fixture(scope="module")
def model():
    learned = pd.DataFrame(positives(np.random.default_rng(1), N_LABELED), columns=NAMES)
    return RCQ(random_state=0).fit(learned)


def answer(model, rows):
    return model.quantify(pd.DataFrame(rows, columns=NAMES))


def cautions(found):
    return {caution.code: caution for caution in found.warnings}


@pytest.fixture
def rng():
    return np.random.default_rng(2)


# Whole samples


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.8, 1.0])
def test_nothing_is_said_of_clean_samples(model, rng, p):
    found = [answer(model, sample_of(rng, p)) for _ in range(5)]
    assert not [set(cautions(each)) & MAKE for each in found if set(cautions(each)) & MAKE]


def test_negatives_that_are_far_away_in_all_columns_are_no_other_make(model, rng):
    far = positives(rng, 400) + 100 * SCALE
    found = cautions(answer(model, np.vstack([positives(rng, 400), far])))
    assert not set(found) & MAKE


@pytest.mark.parametrize("column", NAMES)
@pytest.mark.parametrize("factor", [1000, 1e-3])
def test_other_units(model, rng, column, factor):
    rows = sample_of(rng)
    rows[:, NAMES.index(column)] *= factor
    found = answer(model, rows)
    caution = cautions(found)["other-units"]
    assert f"Column {column} is between" in caution.sentence
    # Near zero, small values are not as far away as large ones are from the rest.
    assert caution.severity == ("do not use" if factor > 1 else "check")
    assert found.verdict.status != NO_DOUBT
    assert not [name for name in NAMES if name != column and name in caution.sentence]


def test_other_units_in_two_columns(model, rng):
    rows = sample_of(rng)
    rows[:, [0, 2]] = rows[:, [2, 0]]
    caution = cautions(answer(model, rows))["other-units"]
    assert "length, speed" in caution.sentence
    assert "exchanged" in caution.sentence


@pytest.mark.parametrize("code", [-999.0, 1e6])
def test_a_code_for_missing_values_in_all_columns(model, rng, code):
    rows = sample_of(rng)
    rows[rng.random(rows.shape) < 0.05] = code
    found = answer(model, rows)
    caution = cautions(found)["missing-code"]
    assert ("below" if code < 0 else "above") in caution.sentence
    assert caution.severity == "check"
    assert caution.value == pytest.approx(0.05, abs=0.03)


def test_a_code_for_missing_values_in_one_column(model, rng):
    rows = sample_of(rng)
    rows[rng.random(len(rows)) < 0.3, 3] = -999
    found = cautions(answer(model, rows))
    assert found["missing-code"].severity == "check"
    assert "In column angle, " in found["missing-code"].sentence
    assert found["missing-code"].value == pytest.approx(0.3, abs=0.05)
    assert "other-units" not in found


def test_two_columns_that_contradict_all_others(model, rng):
    rows = positives(rng, N_ROWS)
    standard = (rows - CENTRE) / SCALE
    # Within the range of each, so that only their shares are strange.
    standard[:, 1], standard[:, 4] = 1.2 + standard[:, 4] / 3, -1.2 + standard[:, 1] / 3
    found = cautions(answer(model, CENTRE + SCALE * standard))
    assert "columns width and mass" in found["exchanged-columns"].sentence.replace(
        "mass and width", "width and mass"
    )
    assert "other-units" not in found


def test_nothing_like_positives(model, rng):
    found = cautions(answer(model, negatives(rng, N_ROWS) + 3 * SCALE))
    assert found["nothing-like-positives"].value < 0.01
    assert "nothing-like-positives" not in cautions(answer(model, sample_of(rng, 0.1)))


def test_repeated_positives(rng):
    learned = np.repeat(positives(rng, 40), 10, axis=0)
    model = RCQ(random_state=0).fit(pd.DataFrame(learned, columns=NAMES))
    once = RCQ(random_state=0).fit(pd.DataFrame(learned[::10], columns=NAMES))
    rows = sample_of(rng)
    found = answer(model, rows)
    caution = cautions(found)["repeated-positives"]
    assert caution.value == pytest.approx(0.9)
    assert caution.sentence.startswith("90 % of the positives are exact copies of others.")
    assert "learned from 40 positives" in caution.sentence
    expected = answer(once, rows)
    assert (float(found), found.interval) == (float(expected), expected.interval)
    assert (model.part_.n_positives_in_, model.n_labeled_, found.n_labeled) == (400, 40, 40)
    assert "repeated-positives" not in cautions(expected)


def test_repeated_positives_in_trcq(rng):
    distinct = pd.DataFrame(positives(rng, 100), columns=NAMES)
    learned = pd.concat([distinct] * 3)
    sample = pd.DataFrame(sample_of(rng), columns=NAMES)
    model = TRCQ(random_state=0).fit(learned)
    assert float(model.quantify(sample)) == float(
        TRCQ(random_state=0).fit(distinct).quantify(sample)
    )


@pytest.mark.parametrize("n_values", [(3, 3), (15, 1), (15, 2), (40,)])
def test_coarse_positives_are_not_repeated(rng, n_values):
    learned = np.column_stack([rng.integers(0, n, size=300) for n in n_values])
    assert RCQ(random_state=0).fit(learned).part_.duplicate_share_ == 0


def test_repeated_positives_of_two_columns(rng):
    """Shuffling few distinct rows gives copies by accident, but the values are fine."""
    learned = np.repeat(rng.normal(size=(30, 2)), 10, axis=0)
    assert RCQ(random_state=0).fit(learned).part_.duplicate_share_ == pytest.approx(0.9)


# Every door


def test_groups_are_warned_one_by_one(model, rng):
    spoilt = sample_of(rng)
    spoilt[:, 2] *= 1000
    frame = pd.DataFrame(np.vstack([sample_of(rng), spoilt]), columns=NAMES)
    frame["night"] = np.repeat(["good", "bad"], N_ROWS)
    by_night = model.quantify_groups(frame, "night")
    for (night,), found in by_night.items():
        rows = frame[frame.night == night][NAMES]
        assert found.warnings == model.quantify(rows).warnings
    assert "other-units" in cautions(by_night["bad",])
    assert not set(cautions(by_night["good",])) & MAKE


def test_the_order_of_columns_and_rows_does_not_matter(model, rng):
    rows = sample_of(rng)
    rows[rng.random(rows.shape) < 0.05] = -999
    rows[:, 2] *= 1000
    frame = pd.DataFrame(rows, columns=NAMES)
    other = frame.sample(frac=1, random_state=0)[NAMES[::-1]]
    assert model.quantify(frame).warnings == model.quantify(other).warnings


def test_trcq_says_the_same(rng):
    learned = pd.DataFrame(positives(rng, N_LABELED), columns=NAMES)
    rows = sample_of(rng)
    rows[:, 2] *= 1000
    frame = pd.DataFrame(rows, columns=NAMES)
    found = TRCQ(random_state=0).fit(learned).quantify(frame)
    assert cautions(found)["other-units"].severity == "do not use"


def test_few_positives_are_no_reason_to_be_silent(rng):
    learned = pd.DataFrame(positives(rng, 12), columns=NAMES)
    rows = sample_of(rng)
    rows[:, 2] *= 1000
    found = RCQ(random_state=0).fit(learned).quantify(pd.DataFrame(rows, columns=NAMES))
    assert {"few-positives-for-rcq", "other-units"} <= set(cautions(found))


# By numbers


def columns_of(n_columns=4, *, positive_zeros=0.0):
    below = np.tile([0.2, 0.4, 0.6, 0.8], (n_columns, 1))
    all_columns = np.ones(n_columns, bool)
    return PositiveColumns(
        ranges=np.tile([-3.0, 3.0], (n_columns, 1)),
        zeros=np.full(n_columns, positive_zeros),
        varying=all_columns,
        judged=all_columns.copy(),
        cut=np.arange(n_columns),
        below=below,
        signs=np.ones(n_columns),
    )


def evidence(farther=None, *, below=None, zeros=None, n=1000, estimate=0.5, names="abcd"):
    """One sample, in which all columns are like the positives but for what is given."""
    d = len(names)
    counted = np.zeros((1, d, 2, 4))
    for (column, side), values in (farther or {}).items():
        counted[0, column, side] = values
    shares = np.tile([0.2, 0.4, 0.6, 0.8], (d, 1)) if below is None else np.array(below)
    zero_rows = np.zeros((1, d)) if zeros is None else np.array([zeros])
    columns = ColumnEvidence(
        columns_of(d), counted, zero_rows, n * shares[np.newaxis], np.array([n])
    )
    return Evidence(
        1,
        n_labeled=300,
        feature_names=list(names),
        columns=columns,
        estimate=np.array([estimate]),
        region_gap=np.zeros(1),
    )


def warning_of(check, evidence):
    result = check.look(evidence)
    return result.warning(0) if result.severity[0] else None


def test_largest_shares_by_the_formula():
    below, outside = np.array([[[0.1, 0.3]]]), np.array([[[0.05, 0.2]]])
    found = largest_shares(below, outside, np.array([[0.2, 0.8]]))
    assert found[0, 0].tolist() == pytest.approx([0.05 / 0.2, (0.9 - 0.2) / 0.8])


def test_cuts_with_hardly_any_positives_say_nothing():
    below, outside = np.zeros((1, 1, 2)), np.zeros((1, 1, 2))
    assert largest_shares(below, outside, np.array([[0.05, 0.95]])).tolist() == [[[1.0, 1.0]]]


def test_columns_without_scale():
    below = np.array([[0.05, 0.1], [0.02, 0.97]])
    zeros = np.array([0.0, 0.0, 0.95])
    assert has_a_scale(below, np.array([0, 1]), zeros).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ([949, 0, 0, 0], None),
        ([951, 0, 0, 0], "check"),
        ([951, 900, 199, 0], "check"),
        ([951, 900, 201, 0], "do not use"),
        ([300, 300, 201, 0], "do not use"),
        ([300, 300, 199, 0], None),
    ],
)
def test_limits_of_other_units(rows, severity):
    caution = warning_of(OTHER_UNITS, evidence({(1, 1): rows}))
    assert (caution and caution.severity) == severity


def test_a_code_in_one_column_hides_no_other_units_in_another():
    both = evidence({(1, 1): [300, 300, 201, 0], (2, 0): [50, 50, 50, 50]})
    assert warning_of(OTHER_UNITS, both).reason == "column b may be in other units"
    assert warning_of(MISSING_CODE, both) is not None


def test_most_columns_in_other_places_may_be_negatives():
    everywhere = {(j, 1): [990, 0, 0, 0] for j in range(4)}
    assert warning_of(OTHER_UNITS, evidence(everywhere)).severity == "note"
    very_far = {(j, 1): [990, 990, 990, 0] for j in range(4)}
    assert warning_of(OTHER_UNITS, evidence(very_far)).severity == "check"


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ([50, 50, 50, 50], "check"),
        ([50, 50, 50, 0], "check"),
        ([50, 50, 0, 0], "note"),
        ([50, 0, 0, 0], None),
        ([9, 9, 9, 9], None),
        # A tail, in which every bin has fewer rows than the one before, or half of them.
        ([200, 100, 50, 25], None),
        ([52, 50, 3, 3], "note"),
        # Rows just outside are no neighbours of those far away.
        ([250, 50, 50, 50], "check"),
    ],
)
def test_limits_of_codes(rows, severity):
    caution = warning_of(MISSING_CODE, evidence({(2, 0): rows}))
    assert (caution and caution.severity) == severity


def test_codes_need_three_rows():
    few, enough = ({(2, 0): [k] * 4} for k in (2, 3))
    assert warning_of(MISSING_CODE, evidence(few, n=100)) is None
    assert warning_of(MISSING_CODE, evidence(enough, n=100)) is not None


def test_far_rows_in_most_columns_are_negatives_unless_they_are_few():
    many, few = ({(j, 0): [k] * 4 for j in range(4)} for k in (300, 60))
    assert warning_of(MISSING_CODE, evidence(many)) is None
    assert warning_of(OTHER_UNITS, evidence(many)) is None
    assert "4 columns" in warning_of(MISSING_CODE, evidence(few)).sentence


def test_the_covariance_is_learned_without_the_largest_of_ten_folds():
    without, n, d = 49, 55, 5
    too_far = (without / (without - d - 2)) / (n / (n - d - 2))
    expected = 0.8 * np.sqrt(d / 2) * np.log(too_far)
    assert covariance_bias(d, n) == pytest.approx(expected, rel=1e-12)


def shares(*at_first_cut):
    """Columns that fit but for the share at or below their first cut."""
    return [[share, 0.4, 0.6, 0.8] for share in at_first_cut]


def test_the_two_worst_columns_are_left_out():
    rows = evidence(below=shares(0.02, 0.2, 0.01, 0.2), estimate=0.1)
    caution = warning_of(EXCHANGED_COLUMNS, rows)
    assert "columns c and a" in caution.sentence
    three = evidence(below=shares(0.02, 0.02, 0.01, 0.2), estimate=0.1)
    assert warning_of(EXCHANGED_COLUMNS, three) is None


@pytest.mark.parametrize(
    ("share", "severity"),
    [(MOST_COPIES, None), (0.3, "note"), (0.9, "note"), (0.92, "do not use")],
)
def test_limits_of_copies(share, severity):
    caution = warning_of(
        REPEATED_POSITIVES, Evidence(1, n_labeled=100, duplicate_share=share, n_positives_in=100)
    )
    assert (caution and caution.severity) == severity


@pytest.mark.parametrize(("share", "said"), [(0.011, False), (0.009, True)])
def test_limit_of_nothing_like_positives(share, said):
    found = warning_of(
        NOTHING_LIKE_POSITIVES, Evidence(1, n_labeled=100, core_share=np.array([share]))
    )
    assert (found is not None) == said


def test_an_empty_group_is_no_other_make():
    columns = ColumnEvidence(
        columns_of(4), np.zeros((1, 4, 2, 4)), np.zeros((1, 4)), np.zeros((1, 4, 4)), np.array([0])
    )
    found = Evidence(1, n_labeled=300, feature_names=list("abcd"), columns=columns)
    for check in (OTHER_UNITS, MISSING_CODE):
        assert warning_of(check, found) is None
