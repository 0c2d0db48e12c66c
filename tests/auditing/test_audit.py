"""Audits: rows drawn to be labelled, and what their labels say."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poscount
from poscount import PAT, RCQ, InputError
from poscount.auditing.batches import Batch, in_memory
from poscount.auditing.labels import Evidence, Labels, corrected, labels_needed, positives_outside
from poscount.auditing.likely import likely_rows
from poscount.auditing.sampling import Design, draw, make_strata
from poscount.counts.posterior import CellPosterior
from poscount.data.validation import as_frame
from poscount.results.distribution import INTERVAL_LEVELS, Distribution

LEVEL = INTERVAL_LEVELS.tolist().index(0.95)


def labels_of(positive, stratum=None, totals=(1000,), expected=(0.3,), weight=None, chance=None):
    """Labels of rows that were drawn in this order."""
    positive = np.asarray(positive, bool)
    n, h = len(positive), len(totals)
    return Labels(
        np.array(totals, float),
        np.array(expected, float),
        np.full((n, h), 1 / h) if chance is None else chance,
        np.zeros(n, np.intp) if stratum is None else np.asarray(stratum),
        np.ones(n) if weight is None else weight,
        positive,
    )


def interval(labels):
    found = Evidence(labels)
    return float(found.low[LEVEL]), float(found.high[LEVEL])


@pytest.fixture(scope="module")
def model(positives):
    return RCQ(random_state=0).fit(frame_of(positives))


@pytest.fixture(scope="module")
def trap():
    """Rows around the positives and near them, with their truth; 40 rows are there five times."""
    rng = np.random.default_rng(5)
    mixing = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, -0.5, 0.3]])
    rows = rng.normal(size=(900, 3)) @ mixing + [1.0, -2.0, 5.0]
    positive = np.arange(900) < 300
    rows[~positive] += [6.0, 2.0, 1.0]
    repeated = rng.choice(900, 40, replace=False)
    rows = np.vstack([rows, *[rows[repeated]] * 4])
    positive = np.concatenate([positive, *[positive[repeated]] * 4])
    frame = frame_of(rows)
    frame["note"] = np.where(np.arange(len(rows)) % 3 == 0, "dark", "clear")
    # By content, because rows change places in the tests.
    frame["note"] = frame["note"].where(np.arange(len(rows)) < 900, frame["note"].to_numpy()[0])
    return frame.assign(truth=positive)


def frame_of(rows):
    return pd.DataFrame(rows, columns=["a", "b", "c"])


def answered(table, trap):
    """The table with the true labels."""
    return table.assign(label=np.where(trap["truth"].to_numpy()[table["audit_row"]], "yes", "no"))


# The interval


def first(labels, n):
    """The first so many labels."""
    parts = {x: getattr(labels, x)[:n] for x in ("chance", "stratum", "weight", "positive")}
    return labels._replace(**parts)


def drawn_labels(rng, rows, shares, expected, chance, n):
    """Labels of rows drawn at random, as an audit draws them."""
    left = [
        rng.permutation(np.arange(m) < round(m * p)).tolist()
        for m, p in zip(rows, shares, strict=True)
    ]
    truth = sum(map(sum, left)) / sum(rows)
    strata, positive, chances = [], [], []
    for _ in range(n):
        possible = np.where([bool(x) for x in left], chance, 0.0)
        chances.append(possible / possible.sum())
        strata.append(rng.choice(len(rows), p=chances[-1]))
        positive.append(left[strata[-1]].pop())
    return labels_of(positive, strata, rows, expected, chance=np.array(chances)), truth


@pytest.mark.parametrize(
    ("expected", "scale"),
    [((0.05, 0.3, 0.9), 1.0), ((0.9, 0.5, 0.1), 0.4), ((0, 0, 0), 0.02), ((0, 0, 0), 1.0)],
)
def test_it_holds_at_all_looks_together(scale, expected):
    """Whether the model is right, wrong, or sees nothing; 8 of 50 audits have p = .003."""
    rng = np.random.default_rng(0)
    shares = scale * np.array([0.05, 0.3, 0.95])
    missed = 0
    for _ in range(50):
        rows, chance = (300, 120, 80), np.array([0.5, 0.3, 0.2])
        labels, truth = drawn_labels(rng, rows, shares, expected, chance, 60)
        looks = (interval(first(labels, n)) for n in (1, 3, 8, 20, 40, 60))
        missed += any(not low - 1e-5 <= truth <= high + 1e-5 for low, high in looks)
    assert missed <= 7


def test_what_is_foretold_has_the_expectation_of_the_share():
    """The mean of Z and of what was found before, over all draws that could come next."""
    rng = np.random.default_rng(1)
    rows, shares = (40, 10), (0.2, 0.7)
    chance = np.array([0.6, 0.4])
    found = []
    for _ in range(1000):
        labels, truth = drawn_labels(rng, rows, shares, (0.5, 0.1), chance, 12)
        evidence = Evidence(labels)
        found.append(evidence._z + evidence._found)
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert (abs(np.mean(found, axis=0) - truth) < 4 * error).all()


def test_a_wrong_model_makes_it_wide_and_not_wrong():
    rng = np.random.default_rng(2)
    rows, shares, chance = (600, 400), (0.02, 0.95), np.array([0.5, 0.5])
    labels, truth = drawn_labels(rng, rows, shares, shares, chance, 100)
    right = interval(labels)
    wrong = interval(labels._replace(expected=np.array([0.95, 0.02])))
    for low, high in (right, wrong):
        assert low <= truth <= high
    assert right[1] - right[0] < wrong[1] - wrong[0]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 400))
def test_what_was_seen_bounds_it_and_words_can_be_exchanged(positive, more):
    n = len(positive) + more
    labels = labels_of(positive, totals=(n,))
    low, high = interval(labels)
    k = sum(positive)
    assert k / n - 1e-5 <= low <= high <= 1 - (len(positive) - k) / n + 1e-5
    turned = labels._replace(positive=~labels.positive, expected=1 - labels.expected)
    assert interval(turned) == pytest.approx((1 - high, 1 - low), abs=1e-5)
    found = Evidence(labels)
    # The higher the level, the wider.
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()


def test_weights_that_are_equal_are_rows():
    rng = np.random.default_rng(3)
    labels, _ = drawn_labels(rng, (300, 100), (0.1, 0.8), (0.2, 0.6), np.array([0.5, 0.5]), 40)
    heavier = labels._replace(totals=7 * labels.totals, weight=7 * labels.weight)
    assert interval(heavier) == pytest.approx(interval(labels), abs=1e-6)


def test_a_known_error_rate_is_taken_out():
    point = Distribution(np.full(49, 0.38))
    value, found = corrected(0.38, point, (0.1, 0.2), 10**8)
    # .4 of the rows are positive: .4 x .8 + .6 x .1 = .38.
    assert value == pytest.approx(0.4)
    assert found.quantile(0.5) == pytest.approx(0.4, abs=1e-3)
    assert corrected(0.05, Distribution(np.full(49, 0.05)), (0.1, 0.0), 100)[0] == 0


def test_labels_needed_give_about_the_width():
    rng = np.random.default_rng(4)
    rows, shares, chance = (6000, 4000), (0.1, 0.8), np.array([0.5, 0.5])
    labels, _ = drawn_labels(rng, rows, shares, shares, chance, 100)
    for width in (0.4, 0.15):
        more, _ = drawn_labels(
            rng, rows, shares, shares, chance, labels_needed(labels, width, 0.95)
        )
        low, high = interval(more)
        assert high - low == pytest.approx(width, rel=0.25)
    assert labels_needed(labels, 1e-6, 0.95) == 10_000


# Strata and draws


def strata_of(rows, shares, probability, n):
    return make_strata([()], [CellPosterior(rows, shares, probability, None)], [rows], n)


def test_strata_are_sorted_and_every_one_is_sampled():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 200, 32)
    shares = rng.dirichlet(np.ones(32))
    probability = np.clip(shares / (rows / rows.sum() + 1e-9), 0, 1)
    strata = strata_of(rows, shares, probability, 100)
    (of_cell,) = strata.of_cell
    assert (of_cell[rows == 0] == -1).all()
    assert strata.rows.tolist() == np.bincount(of_cell[rows > 0], rows[rows > 0]).tolist()
    assert strata.chance.sum() == pytest.approx(1)
    # Equal parts of the labels, but for the size of cells.
    assert (strata.chance > 0.03).all()
    ratio = np.bincount(of_cell[rows > 0], shares[rows > 0]) / strata.rows
    assert (np.diff(ratio) >= 0).all()


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_a_model_that_is_sure_of_everything_is_audited_all_the_same(certain):
    rows, shares = np.full(10, 100), np.full(10, 0.1)
    strata = strata_of(rows, shares, np.full(10, certain), 80)
    # Without a reason to prefer any row, all have the same chance.
    np.testing.assert_allclose(strata.chance / strata.rows, 0.001)


def test_rare_positives_are_looked_for_where_they_would_be():
    """Of 10,000 rows, 100 lie where the labelled positives are; the model sees none."""
    rows, shares = np.array([9900, 50, 50]), np.array([0.02, 0.38, 0.6])
    strata = strata_of(rows, shares, np.zeros(3), 100)
    (of_cell,) = strata.of_cell
    there = strata.chance[np.unique(of_cell[1:])].sum()
    assert there > 0.3


@pytest.fixture(scope="module")
def draws(model, trap):
    return [draw(model, in_memory(trap), Design(60, seed)) for seed in range(150)]


def test_rows_of_a_stratum_have_equal_chances(draws, model, trap):
    """The copies of a row, too: each counts as a row of its own."""
    times = np.zeros(len(trap))
    for drawn in draws:
        assert len(set(drawn.numbers.tolist())) == len(drawn.numbers) == 60
        times[drawn.numbers] += 1
    strata = draws[0].strata
    stratum = strata.of_cell[0, model._posterior_cells_of(model._sample(trap))]
    expected = 60 * len(draws) * (strata.chance / strata.rows)[stratum]
    z = (times - expected) / np.sqrt(expected)
    # No stratum is nearly exhausted by 60 draws.
    assert abs(z).max() < 6
    assert z.std() == pytest.approx(1, abs=0.15)
    repeated = trap.duplicated(keep=False).to_numpy()
    assert repeated.sum() > 100
    assert z[repeated].mean() == pytest.approx(0, abs=4 / math.sqrt(repeated.sum()))


def test_strata_are_chosen_with_the_stated_chances(draws):
    chosen = np.mean([np.bincount(x.stratum, minlength=len(x.strata.rows)) for x in draws], axis=0)
    expected = np.mean([x.chance.sum(axis=0) for x in draws], axis=0)
    assert chosen == pytest.approx(expected, abs=4 * math.sqrt(60 / 4 / len(draws)))


def test_weights_decide_who_is_drawn(model, trap):
    heavy = np.arange(len(trap)) % 4 == 0
    weighted = trap.assign(w=np.where(heavy, 5.0, 1.0) * (np.arange(len(trap)) % 7 > 0))
    n_heavy, n = 0, 0
    for seed in range(20):
        drawn = draw(model, in_memory(weighted), Design(30, seed, (), "w"))
        assert (weighted["w"].to_numpy()[drawn.numbers] > 0).all()
        n_heavy, n = n_heavy + int((drawn.weight == 5).sum()), n + len(drawn.weight)
    there = weighted["w"] > 0
    share = weighted["w"][heavy & there].sum() / weighted["w"].sum()
    assert n_heavy / n == pytest.approx(share, abs=0.08)
    table = poscount.audit(model, weighted, 5000, weights="w")
    truth = np.average(trap["truth"], weights=weighted["w"])
    settled = poscount.settle(model, weighted, answered(table, trap))
    assert float(settled.prevalence) == pytest.approx(truth, abs=1e-6)
    assert settled.prevalence.interval.width < 1e-5
    # And few of them cover it.
    some = poscount.settle(model, weighted, answered(table, trap)[:100]).prevalence
    assert truth in some.interval


def test_groups_have_answers_of_their_own(model, trap):
    table = answered(poscount.audit(model, trap, 200, by="note"), trap)
    settled = poscount.settle(model, trap, table)
    truth = trap.groupby("note")["truth"].mean()
    assert list(settled.groups) == [("clear",), ("dark",)]
    for (key,), p in settled.groups.items():
        assert truth[key] in p.interval
        assert p.n_unlabeled == (trap["note"] == key).sum()
    assert trap["truth"].mean() in settled.prevalence.interval
    record = settled.to_dict()["groups"]
    assert [x["group"] for x in record] == [["clear"], ["dark"]]
    # With one label, the others have none.
    one = poscount.settle(model, trap, table[:1])
    assert max(p.interval.width for p in one.groups.values()) == pytest.approx(1, abs=0.01)


def test_the_estimate_covers(draws, trap):
    positive, truth = trap["truth"].to_numpy(), trap["truth"].mean()
    held = []
    for drawn in draws:
        rows = drawn.chance, drawn.stratum, drawn.weight, positive[drawn.numbers]
        low, high = interval(Labels(drawn.strata.totals, drawn.strata.expected, *rows))
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.91


def test_batches_and_the_order_of_columns_change_nothing(model, trap):
    expected = draw(model, in_memory(trap), Design(80, 0))

    def batches():
        for start, stop in itertools.pairwise([0, 10, 11, 500, len(trap)]):
            yield Batch(as_frame(trap[start:stop][trap.columns[::-1]]), f"{start}.csv", 0)

    found = draw(model, batches, Design(80, 0))
    assert found.ids == expected.ids
    assert found.stratum.tolist() == expected.stratum.tolist()
    pd.testing.assert_frame_equal(found.frame.to_native()[trap.columns], expected.frame.to_native())
    assert draw(model, in_memory(trap), Design(80, 1)).ids != expected.ids


def test_data_that_change_between_the_passes_are_noticed(model, trap):
    passes = iter([trap, trap[1:]])
    with pytest.raises(InputError, match="changed while they were read"):
        draw(model, lambda: iter([Batch(as_frame(next(passes)))]), Design(80, 0))


def test_frames_of_every_kind_draw_the_same_rows(model, trap):
    expected = poscount.audit(model, trap, 60)
    for kind, made in ((pl.DataFrame, pl.from_pandas(trap)), (pa.Table, pa.table(trap))):
        found = poscount.audit(model, made, 60)
        assert isinstance(found, kind)
        assert list(found["audit_id"].to_numpy()) == expected["audit_id"].tolist()


def test_more_labels_keep_the_earlier_ones(model, trap):
    few = answered(poscount.audit(model, trap, 50), trap)
    many = poscount.audit(model, trap, 150, labelled=few)
    assert set(few["audit_id"]) <= set(many["audit_id"])
    assert many["label"].notna().sum() == 50
    kept = many[many["label"].notna()].set_index("audit_id")["label"]
    assert kept.to_dict() == few.set_index("audit_id")["label"].to_dict()
    with pytest.raises(InputError, match=r"seed 0.*Set random_state=0"):
        poscount.audit(model, trap, 150, labelled=few, random_state=1)


def test_every_beginning_is_a_smaller_sample(model, trap):
    table = answered(poscount.audit(model, trap, 120), trap)
    for n in (1, 7, 30, 60, 119):
        part = table.copy()
        part.loc[n:, "label"] = None
        settled = poscount.settle(model, trap, part)
        assert settled.n_labelled == n
        assert "skipped-labels" not in [caution.code for caution in settled.findings]
        if n == 60:
            # A file that ends there says the same.
            shorter = poscount.settle(model, trap, table[:n])
            assert float(shorter.prevalence) == float(settled.prevalence)


def test_skipped_labels_are_told(model, trap):
    table = answered(poscount.audit(model, trap, 80), trap)
    table.loc[[30, 31, 50], "label"] = ""
    (finding,) = poscount.settle(model, trap, table).findings
    assert finding.code == "skipped-labels"
    assert finding.sentence.startswith("3 row(s) before the last label")


def test_labels_of_all_rows_are_the_truth(model, trap):
    settled = poscount.settle(model, trap, answered(poscount.audit(model, trap, 5000), trap))
    assert float(settled.prevalence) == pytest.approx(trap["truth"].mean())
    assert settled.prevalence.interval.width < 1e-5
    assert len(settled.positives) == trap["truth"].sum()


# Labels


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        *[("yes", "NO"), ("Y", "n"), ("1", "0"), ("1.0", "0.0"), ("True", "false")],
        *[(True, False), (1, 0), (1.0, 0.0), (" Positive ", "negative")],
    ],
)
def test_labels_in_other_words(model, trap, yes, no):
    table = answered(poscount.audit(model, trap, 40), trap)
    expected = float(poscount.settle(model, trap, table).prevalence)
    words = table.assign(label=[yes if label == "yes" else no for label in table["label"]])
    assert float(poscount.settle(model, trap, words).prevalence) == expected


def test_rows_are_given_back(model, trap):
    table = answered(poscount.audit(model, trap, 60), trap)
    # Whatever was done to the columns of the table, the rows are those of the data.
    settled = poscount.settle(model, trap, table.assign(a=0.0))
    assert list(settled.positives.columns) == list(trap.columns)
    assert settled.positives["truth"].all()
    assert not settled.negatives["truth"].any()
    assert len(settled.positives) + len(settled.negatives) == 60
    assert settled.positives["a"].abs().min() > 0


@pytest.fixture
def table(model, trap):
    return answered(poscount.audit(model, trap, 60), trap)


def refusal(model, trap, table):
    with pytest.raises(InputError) as caught:
        poscount.settle(model, trap, table)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_bad_labels_are_named(model, trap, table):
    table.loc[7, "label"] = "maybe"
    assert refusal(model, trap, table).startswith(
        "column 'label', row 7: 'maybe' is not a label: write yes or no"
    )


def test_no_labels_and_one(model, trap, table):
    assert "there is no label" in refusal(model, trap, table.assign(label=None))
    one = poscount.settle(model, trap, table[:1])
    assert one.n_labelled == 1
    assert one.prevalence.interval.width > 0.9
    assert one.answer is one.model


def test_two_people_and_a_known_error_rate(model, trap, table):
    alone = poscount.settle(model, trap, table).prevalence
    same = poscount.settle(model, trap, table.assign(label_2=table["label"]))
    assert same.prevalence.interval == alone.interval
    other = table["label"].where(table.index % 10 > 0, "no")
    differ = poscount.settle(model, trap, table.assign(label_2=other))
    finding = next(x for x in differ.findings if x.code == "raters-differ")
    assert finding.value == (table["label"] != other).sum()
    assert differ.prevalence.interval.low < alone.interval.low
    assert differ.prevalence.interval.high == pytest.approx(alone.interval.high)
    # A second label that is missing is no doubt.
    assert not poscount.settle(model, trap, table.assign(label_2=None)).findings
    wrong = poscount.settle(model, trap, table, rater_errors=(0.05, 0.05)).prevalence
    assert wrong.interval.width > alone.interval.width
    with pytest.raises(InputError, match="both together must be below 1"):
        poscount.settle(model, trap, table, rater_errors=(0.5, 0.5))


def test_data_that_changed_are_noticed(model, trap, table):
    changed = trap.copy()
    changed.loc[table["audit_row"][4], "c"] += 1e-6
    assert "are not among the rows that the model draws" in refusal(model, changed, table)
    assert "are not among the rows" in refusal(model, trap[1:], table)
    assert "are not among the rows" in refusal(model, pd.concat([trap, trap]), table)
    edited = table.copy()
    edited.loc[2, "audit_id"] = "r3-01234567"
    assert "1 of 60 labelled rows" in refusal(model, trap, edited)


def test_other_tables_are_refused(model, trap, table, positives):
    for value in ("7", '{"n": 60}', table["audit_design"][0].replace("60", "61")):
        edited = table.copy()
        edited.loc[3, "audit_design"] = value
        assert "column 'audit_design', row 3: " in refusal(model, trap, edited)
    other = RCQ(random_state=1).fit(frame_of(positives[:100]))
    assert "another model" in refusal(other, trap, table)
    twice = pd.concat([table, table[3:4]], ignore_index=True)
    assert "is there a second time" in refusal(model, trap, twice)
    assert "give back the table that audit made" in refusal(model, trap, trap)
    assert "has no rows" in refusal(model, trap, table[:0])
    assert "did you mean 'Label'" in refusal(model, trap, table.rename(columns={"label": "Label"}))


def test_audits_that_cannot_be(model, trap, sample, positives):
    with pytest.raises(InputError, match="At least one row must be drawn, not 0"):
        poscount.audit(model, trap, 0)
    with pytest.raises(InputError, match="column 'label': the rows to label get a column"):
        poscount.audit(model, trap.assign(label=1))
    with pytest.raises(InputError, match="use a reusable method"):
        poscount.audit(poscount.DEDPUL(random_state=0).fit(frame_of(positives)), trap)
    with pytest.raises(TypeError, match="columns have names"):
        poscount.audit(model, sample)
    with pytest.raises(InputError, match="no rows"):
        poscount.audit(model, trap[:0])


# Labels and model


def around(rng, centre, n):
    return pd.DataFrame(rng.normal(size=(n, 3)) + centre, columns=["a", "b", "c"])


def settled_for(model, positive, negative, n=100):
    sample = pd.concat([positive, negative], ignore_index=True)
    table = poscount.audit(model, sample, n)
    table["label"] = table["audit_row"] < len(positive)
    return poscount.settle(model, sample, table)


def test_a_model_that_is_right_is_confirmed():
    agreed = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = PAT(random_state=0).fit(around(rng, 0, 400))
        settled = settled_for(model, around(rng, 0, 600), around(rng, 5, 1400))
        assert settled.agreement != "contradict"
        assert settled.findings == ()
        narrower = settled.prevalence.interval.width <= settled.model.interval.width
        assert settled.answer is (settled.prevalence if narrower else settled.model)
        assert 0.3 in settled.prevalence.interval
        agreed += settled.agreement == "agree"
    assert agreed >= 3


def test_overlap_is_told():
    """PAT takes negatives that look like positives for positives."""
    rng = np.random.default_rng(0)
    model = PAT(random_state=0).fit(around(rng, 0, 400))
    settled = settled_for(model, around(rng, 0, 600), around(rng, 0, 1400))
    assert settled.agreement == "contradict"
    codes = [caution.code for caution in settled.findings]
    assert codes == ["labels-contradict-model", "negatives-like-positives"]
    assert "says too much" in settled.findings[0].sentence
    # What contradicts the model is the headline.
    assert settled.answer is settled.prevalence
    assert settled.headline.endswith("by 100 label(s).")
    assert settled.to_dict()["answer"] == "labels"
    assert 0.3 in settled.prevalence.interval


def test_drift_is_told():
    """The positives of the sample are not where the labelled ones were."""
    rng = np.random.default_rng(0)
    model = RCQ(random_state=0).fit(around(rng, 0, 400))
    settled = settled_for(model, around(rng, 3, 600), around(rng, 9, 1400))
    codes = [caution.code for caution in settled.findings]
    assert codes == ["labels-contradict-model", "positives-elsewhere"]
    assert "says too little" in settled.findings[0].sentence
    assert 0.3 in settled.prevalence.interval


def test_where_positives_lie_is_compared():
    """Half of the labelled positives are outside; of 30 that the labels found, none or all are."""
    positive = np.arange(60) < 30
    labels = labels_of(positive)
    for outside, sign in ((positive & False, -1), (positive, 1)):
        found = positives_outside(labels, outside, 0.5, 10**6)
        assert sign * found.statistic > 3
        assert found.found == (sign > 0)
    assert abs(positives_outside(labels, np.arange(60) % 2 > 0, 0.5, 10**6).statistic) < 0.1


def test_what_json_gets(model, trap, table):
    settled = poscount.settle(model, trap, table)
    record = json.loads(json.dumps(settled.to_dict()))
    assert record["labels"]["prevalence"] == float(settled.prevalence)
    assert record["n_rows"] == len(trap)
    assert sum(stratum["rows"] for stratum in record["strata"]) == len(trap)
    assert record["answer"] == ("labels" if settled.answer is settled.prevalence else "model")
    assert record["headline"] == settled.headline
    assert settled.labels_needed(0.02) > settled.labels_needed(0.2)
    assert "Settlement(Prevalence(" in repr(settled)
    with pytest.raises(InputError, match="between 0 and 1"):
        settled.labels_needed(5)


# The likeliest rows


@pytest.mark.parametrize("by", [(), ("note",)])
def test_likely_rows_are_those_of_the_posterior(model, trap, by):
    found = poscount.likely_positives(model, trap, 25, by=by)
    parts = [trap] if not by else [part for _, part in trap.groupby("note")]
    assert len(found) == 25 * len(parts)
    for i, part in enumerate(parts):
        posterior, score = model.posterior(part), model._scores_of(model._sample(part))
        best = np.lexsort((-score, -posterior))[:25]
        ours = found[25 * i : 25 * i + 25]
        np.testing.assert_allclose(ours["probability"], posterior[best])
        expected = part.iloc[best]
        # Copies of a row have the same score.
        pd.testing.assert_frame_equal(
            ours[trap.columns].reset_index(drop=True), expected.reset_index(drop=True)
        )
        pd.testing.assert_frame_equal(
            trap.iloc[ours["source_row"]].reset_index(drop=True), expected.reset_index(drop=True)
        )


def test_likely_rows_do_not_depend_on_batches(model, trap):
    def batches():
        for start in range(0, len(trap), 100):
            yield Batch(as_frame(trap[start : start + 100]), "trap.csv", start)

    found = likely_rows(model, batches, 10, ("note",)).to_native()
    expected = poscount.likely_positives(model, trap, 10, by="note")
    columns = ["probability", *trap.columns]
    pd.testing.assert_frame_equal(found[columns], expected[columns])
    with pytest.raises(InputError, match="At least one row"):
        poscount.likely_positives(model, trap, 0)
    with pytest.raises(InputError, match="column 'probability': the result has"):
        poscount.likely_positives(model, trap.assign(probability=1.0), 5)
