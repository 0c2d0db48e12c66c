"""Audits: rows drawn to be labelled, and what their labels say."""

import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import poscount
from answers import distribution_of
from poscount import PAT, RCQ, InputError
from poscount.auditing.batches import Batch, in_memory
from poscount.auditing.labels import Labels, combine, labels_needed, score_interval, share
from poscount.auditing.likely import likely_rows
from poscount.auditing.sampling import draw, make_strata
from poscount.counts.posterior import CellPosterior
from poscount.data.validation import as_frame
from poscount.results.prevalence import Prevalence

Z = stats.norm.ppf(0.975)


def labels_of(rows, labelled, positives):
    return Labels(*map(np.array, (rows, labelled, positives)))


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


@pytest.mark.parametrize(("n", "k"), [(10, 0), (10, 3), (100, 1), (100, 50), (37, 37)])
def test_in_one_endless_stratum_the_interval_is_wilsons(n, k):
    found = score_interval(labels_of([10**12], [n], [k]))
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert found.low == pytest.approx(expected.low, abs=1e-6)
    assert found.high == pytest.approx(expected.high, abs=1e-6)


def test_its_ends_are_where_the_test_starts_to_reject():
    """Against a plain search over the shares of two strata."""
    labels = labels_of([3000, 1000], [30, 20], [3, 15])
    found = score_interval(labels)
    weights, n = np.array([0.75, 0.25]), labels.effective
    first = np.linspace(1e-6, 1 - 1e-6, 200_001)
    for end in (found.low, found.high):
        second = (end - weights[0] * first) / weights[1]
        there = (second > 0) & (second < 1)
        p = np.array([first[there], second[there]])
        k = (labels.shares * n)[:, np.newaxis]
        likelihood = (k * np.log(p) + (n[:, np.newaxis] - k) * np.log(1 - p)).sum(axis=0)
        best = p[:, np.argmax(likelihood)]
        deviation = math.sqrt(np.sum(weights**2 * best * (1 - best) / n))
        assert abs(end - share(labels)) / deviation == pytest.approx(Z, abs=1e-3)


counts = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.integers(n, 500), st.just(n), st.integers(0, n))
)


@settings(max_examples=100)
@given(st.lists(counts, min_size=1, max_size=8))
def test_intervals_hold_the_estimate_and_what_was_seen(strata):
    labels = labels_of(*zip(*strata, strict=True))
    found, value = score_interval(labels), share(labels)
    n, positives = labels.rows.sum(), labels.positives.sum()
    assert found.low <= value <= found.high
    # Never fewer positives, nor fewer negatives, than were labelled so.
    assert found.low >= positives / n - 1e-12
    assert found.high <= 1 - (labels.labelled.sum() - positives) / n + 1e-12
    # Yes and no can be exchanged.
    turned = labels._replace(positives=labels.labelled - labels.positives)
    mirrored = score_interval(turned)
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-9)
    assert mirrored.high == pytest.approx(1 - found.low, abs=1e-9)
    # A higher level is a wider interval.
    assert score_interval(labels, 0.99).width >= found.width - 1e-12
    if (labels.labelled == labels.rows).all():
        assert found.width == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [0, 0.01, 0.1, 0.5, 1])
def test_coverage_in_strata_that_differ(scale):
    """Shares of the strata from none to all, and all of them near 0; mirrored ones follow."""
    rng = np.random.default_rng(0)
    rows, labelled = np.array([400, 150, 150, 300]), np.array([20, 10, 10, 20])
    positive = np.round(scale * rows * [0.05, 0.3, 0.7, 0.95]).astype(int)
    truth = positive.sum() / rows.sum()
    found = rng.hypergeometric(positive, rows - positive, labelled, size=(500, 4))
    distinct, times = np.unique(found, axis=0, return_counts=True)
    held = [truth in score_interval(Labels(rows, labelled, k)) for k in distinct]
    assert times[held].sum() / times.sum() > 0.93


def test_labels_needed_give_the_width():
    labels = labels_of([6000, 4000], [50, 50], [5, 40])
    for width in (0.2, 0.1, 0.02):
        n = labels_needed(labels, width)
        shares = (labels.positives + 0.5) / (labels.labelled + 1)

        def at(n, shares=shares):
            half = np.array([n, n]) / 2
            return score_interval(labels._replace(labelled=half, positives=half * shares)).width

        assert at(n) <= width < at(n - 1)
    assert labels_needed(labels, 1e-9) == 10_000


# Strata and draws


def test_strata_are_sorted_and_every_one_is_sampled():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 200, 32)
    shares = rng.dirichlet(np.ones(32))
    probability = np.clip(shares / (rows / rows.sum() + 1e-9), 0, 1)
    strata = make_strata(CellPosterior(rows, shares, probability, None), 100)
    assert (strata.of_cell[rows == 0] == -1).all()
    assert strata.rows.tolist() == np.bincount(strata.of_cell[rows > 0], rows[rows > 0]).tolist()
    assert strata.drawn.sum() == 100
    assert (strata.drawn >= 2).all()
    ratio = strata.shares / strata.rows
    assert (np.diff(ratio) >= 0).all()


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_a_model_that_is_sure_of_everything_is_audited_all_the_same(certain):
    rows, shares = np.full(10, 100), np.full(10, 0.1)
    strata = make_strata(CellPosterior(rows, shares, np.full(10, certain), None), 80)
    # Without a reason to prefer any row, all have about the same chance.
    np.testing.assert_allclose(strata.probability, 0.08, atol=0.01)


@pytest.fixture(scope="module")
def draws(model, trap):
    return [draw(model, in_memory(trap), 60, seed) for seed in range(150)]


def test_rows_are_drawn_with_the_stated_probability(draws, model, trap):
    """The copies of a row, too: each counts as a row of its own."""
    times = np.zeros(len(trap))
    for drawn in draws:
        assert len(set(drawn.numbers.tolist())) == len(drawn.numbers) == 60
        times[drawn.numbers] += 1
    strata = draws[0].strata
    probability = strata.probability[strata.of_cell[model._posterior_cells_of(model._sample(trap))]]
    n = len(draws)
    z = (times - n * probability) / np.sqrt(n * probability * (1 - probability))
    assert abs(z).max() < 6
    assert z.std() == pytest.approx(1, abs=0.1)
    repeated = trap.duplicated(keep=False).to_numpy()
    assert repeated.sum() > 100
    assert z[repeated].mean() == pytest.approx(0, abs=4 / math.sqrt(repeated.sum()))


def test_the_estimate_is_unbiased_and_covers(draws, trap):
    positive, truth = trap["truth"].to_numpy(), trap["truth"].mean()
    errors, held = [], []
    for drawn in draws:
        strata = drawn.strata
        found = np.bincount(drawn.stratum, positive[drawn.numbers], len(strata.rows))
        labels = Labels(strata.rows, strata.drawn, found)
        errors.append(share(labels) - truth)
        held.append(truth in score_interval(labels))
    assert abs(np.mean(errors)) < 3 * np.std(errors) / math.sqrt(len(errors))
    assert np.mean(held) > 0.91


def test_batches_and_the_order_of_columns_change_nothing(model, trap):
    expected = draw(model, in_memory(trap), 80, 0)

    def batches():
        for start, stop in itertools.pairwise([0, 10, 11, 500, len(trap)]):
            yield Batch(as_frame(trap[start:stop][trap.columns[::-1]]), f"{start}.csv", 0)

    found = draw(model, batches, 80, 0)
    assert found.ids == expected.ids
    assert found.stratum.tolist() == expected.stratum.tolist()
    pd.testing.assert_frame_equal(found.frame.to_native()[trap.columns], expected.frame.to_native())
    assert draw(model, in_memory(trap), 80, 1).ids != expected.ids


def test_data_that_change_between_the_passes_are_noticed(model, trap):
    passes = iter([trap, trap[1:]])
    with pytest.raises(InputError, match="changed while they were read"):
        draw(model, lambda: iter([Batch(as_frame(next(passes)))]), 80, 0)


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
    whole = table["audit_stratum"].value_counts(normalize=True)
    for n in (16, 30, 60, 119):
        part = table.copy()
        part.loc[n:, "label"] = None
        settled = poscount.settle(model, trap, part)
        assert settled.n_labelled == n
        assert "skipped-labels" not in [caution.code for caution in settled.findings]
        if n == 60:
            # A file that ends there says the same.
            shorter = poscount.settle(model, trap, table[:n])
            assert float(shorter.prevalence) == float(settled.prevalence)
            shares = part["audit_stratum"][:n].value_counts(normalize=True)
            assert abs(shares - whole).max() < 0.03


def test_skipped_labels_are_told(model, trap):
    table = answered(poscount.audit(model, trap, 80), trap)
    table.loc[[30, 31, 50], "label"] = ""
    (finding,) = poscount.settle(model, trap, table).findings
    assert finding.code == "skipped-labels"
    assert finding.sentence.startswith("3 row(s) before the last label")


def test_labels_of_all_rows_are_the_truth(model, trap):
    settled = poscount.settle(model, trap, answered(poscount.audit(model, trap, 5000), trap))
    assert float(settled.prevalence) == pytest.approx(trap["truth"].mean())
    assert settled.prevalence.interval.width == 0
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


def test_no_labels_and_too_few(model, trap, table):
    assert "there is no label" in refusal(model, trap, table.assign(label=None))
    few = table.copy()
    few.loc[5:, "label"] = None
    sentence = refusal(model, trap, few)
    assert "5 label(s) are too few: stratum" in sentence
    enough = int(re.search(r"label at least the first (\d+) rows", sentence)[1])
    assert poscount.settle(model, trap, table[:enough]).n_labelled == enough


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
    for column in ("audit_seed", "audit_size"):
        edited = table.copy()
        edited.loc[3, column] = 7
        assert f"column '{column}', row 3: '7' is not" in refusal(model, trap, edited)
    other = RCQ(random_state=1).fit(frame_of(positives[:100]))
    assert "another model" in refusal(other, trap, table)
    twice = pd.concat([table, table[3:4]], ignore_index=True)
    assert "is there a second time" in refusal(model, trap, twice)
    assert "give back the table that audit made" in refusal(model, trap, trap)
    assert "has no rows" in refusal(model, trap, table[:0])
    assert "did you mean 'Label'" in refusal(model, trap, table.rename(columns={"label": "Label"}))


def test_audits_that_cannot_be(model, trap, sample, positives):
    with pytest.raises(InputError, match="9 labels say next to nothing"):
        poscount.audit(model, trap, 9)
    with pytest.raises(InputError, match="column 'label': the rows to label get a column"):
        poscount.audit(model, trap.assign(label=1))
    with pytest.raises(InputError, match="use a reusable method"):
        poscount.audit(poscount.DEDPUL(random_state=0).fit(frame_of(positives)), trap)
    with pytest.raises(TypeError, match="columns have names"):
        poscount.audit(model, sample)
    with pytest.raises(InputError, match="no rows"):
        poscount.audit(model, trap[:0])


# Labels and model


def answer(value, low, high):
    return Prevalence(
        value,
        n_labeled=1,
        n_unlabeled=1,
        method="m",
        distribution=distribution_of(low, value, high),
    )


def test_the_combination_is_weighted_by_precision():
    value, distribution = combine(answer(0.3, 0.2, 0.4), answer(0.3, 0.2, 0.4))
    assert value == pytest.approx(0.3)
    assert distribution.interval(0.95).width == pytest.approx(0.2 / math.sqrt(2))
    # Three times as precise: nine of ten parts of the way.
    value, distribution = combine(answer(0.3, 0.15, 0.45), answer(0.35, 0.3, 0.4))
    assert value == pytest.approx(0.3 + 0.9 * 0.05)
    assert distribution.interval(0.95).width > 0.1
    assert combine(answer(0.3, 0.29, 0.31), answer(0.4, 0.0, 0.8)) is None


def around(rng, centre, n):
    return pd.DataFrame(rng.normal(size=(n, 3)) + centre, columns=["a", "b", "c"])


def settled_for(model, positive, negative, n=100):
    sample = pd.concat([positive, negative], ignore_index=True)
    table = poscount.audit(model, sample, n)
    table["label"] = table["audit_row"] < len(positive)
    return poscount.settle(model, sample, table)


def test_a_model_that_is_right_is_confirmed():
    agreed = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = PAT(random_state=0).fit(around(rng, 0, 400))
        settled = settled_for(model, around(rng, 0, 600), around(rng, 5, 1400))
        assert settled.agreement != "contradict"
        assert settled.findings == ()
        if settled.agreement == "agree":
            assert settled.answer is settled.combined
            assert settled.combined.interval.width < settled.prevalence.interval.width
            agreed.append(0.3 in settled.combined.interval)
        else:
            assert settled.answer is settled.prevalence
    # Two of three answers are within one standard deviation.
    assert len(agreed) >= 2
    assert all(agreed)


def test_overlap_is_told():
    """PAT takes negatives that look like positives for positives."""
    rng = np.random.default_rng(0)
    model = PAT(random_state=0).fit(around(rng, 0, 400))
    settled = settled_for(model, around(rng, 0, 600), around(rng, 0, 1400))
    assert settled.agreement == "contradict"
    codes = [caution.code for caution in settled.findings]
    assert codes == ["labels-contradict-model", "negatives-like-positives"]
    assert "says too much" in settled.findings[0].sentence
    assert settled.combined is None
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


def test_labelled_positives_that_are_none_are_told():
    """A fifth of them is far away from the positives of the sample."""
    told = []
    # Of 20 such audits, 12 tell.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labeled = pd.concat([around(rng, 0, 320), around(rng, 8, 80)])
        model = RCQ(random_state=0).fit(labeled)
        settled = settled_for(model, around(rng, 0, 1000), around(rng, 8, 1000), 200)
        told += [caution.code for caution in settled.findings]
        assert 0.5 in settled.prevalence.interval
    assert told.count("positives-missing") >= 2
    assert "positives-elsewhere" not in told


def test_what_json_gets(model, trap, table):
    settled = poscount.settle(model, trap, table)
    record = json.loads(json.dumps(settled.to_dict()))
    assert record["labels"]["prevalence"] == float(settled.prevalence)
    assert record["n_rows"] == len(trap)
    assert sum(stratum["rows"] for stratum in record["strata"]) == len(trap)
    assert record["answer"] == ("labels" if settled.combined is None else "combined")
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
