"""Clusters: what rows that come together say about the population behind them."""

import numpy as np
import pandas as pd
import pytest

import poscount
from poscount import BBE, PAT, RCQ, InputError, ODIn, engines
from poscount.counts.clusters import ClusterSizes, for_population, variance_by_core

METHODS = {"pat": PAT, "odin": ODIn, "rcq": RCQ}

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def rows_of(positive, rng):
    """Rows of two classes that lie well apart."""
    rows = rng.normal(size=(len(positive), 3)) + 6 * ~np.asarray(positive)[:, None]
    return pd.DataFrame(rows, columns=list("abc"))


def sample_of(correlation, n=60, size=20, share=0.3, seed=0):
    """Clusters of equal size with an intra-class correlation of the classes."""
    rng = np.random.default_rng(seed)
    of_cluster = np.full(n, share)
    if correlation == 1:
        of_cluster = (np.arange(n) < round(share * n)).astype(float)
    elif correlation > 0:
        odds = (1 - correlation) / correlation
        of_cluster = rng.beta(share * odds, (1 - share) * odds, n)
    patient = np.repeat(np.arange(n), size)
    positive = rng.random(n * size) < of_cluster[patient]
    frame = rows_of(positive, rng).assign(
        patient=patient, night=np.where(patient < n / 2, "a", "b")
    )
    return frame, positive


@pytest.fixture(scope="module")
def positives():
    return rows_of(np.ones(300, bool), np.random.default_rng(1))


@pytest.fixture(scope="module", params=["pat", "odin", "rcq"])
def model(request, positives):
    return METHODS[request.param](random_state=0).fit(positives)


@pytest.fixture(scope="module")
def pat(positives):
    return PAT(random_state=0).fit(positives)


# Answers that are known


def test_clusters_of_one_class_are_worth_as_many_rows_as_there_are_clusters(model):
    p = model.quantify(sample_of(1)[0], cluster="patient")
    assert p.details["clusters"] == 60
    # As far as the share is wrong, so is what follows from it.
    assert p.details["rows_worth"] == pytest.approx(60, rel=0.15)


def test_the_design_effect_is_kishs(model):
    # 1 + (20 - 1) * 0.3 = 6.7 on average.
    worth = [
        model.quantify(sample_of(0.3, seed=seed)[0], cluster="patient").details["rows_worth"]
        for seed in range(15)
    ]
    assert 1200 / np.mean(worth) == pytest.approx(6.7, rel=0.15)


def test_rows_that_are_independent_lose_little(model):
    frame, _ = sample_of(0)
    p = model.quantify(frame, cluster="patient")
    assert p.details["rows_worth"] > 700
    assert float(p) == float(model.quantify(frame))


def test_the_interval_holds_the_population(pat):
    held = dict.fromkeys((None, "patient"), 0)
    for seed in range(60):
        frame, _ = sample_of(0.3, seed=seed)
        for cluster in held:
            held[cluster] += 0.3 in pat.quantify(frame, cluster=cluster).interval
    # Of 60 with a probability of .95, fewer than 52 hold in 1 of 1,000 cases.
    assert held["patient"] >= 52
    assert held[None] < 45


def test_settled_labels_hold_the_population(pat):
    held = dict.fromkeys((None, "patient"), 0)
    for seed in range(40):
        frame, positive = sample_of(0.5, n=20, size=50, seed=seed)
        to_label = poscount.audit(pat, frame, n=200)
        to_label["label"] = positive[to_label["audit_row"]]
        for cluster in held:
            found = poscount.settle(pat, frame, to_label, cluster=cluster)
            held[cluster] += 0.3 in found.prevalence.interval
    # Of 40 with a probability of .95, fewer than 33 hold in 1 of 1,000 cases.
    assert held["patient"] >= 33
    assert held[None] < 30


def test_no_positive_at_all_leaves_what_the_clusters_leave(pat):
    rng = np.random.default_rng(0)
    frame = rows_of(np.zeros(600, bool), rng).assign(patient=np.repeat(np.arange(30), 20))
    p = pat.quantify(frame, cluster="patient")
    assert p.details["rows_worth"] == 30
    # Of 30 patients without a positive one, up to about a tenth may have some.
    assert 0.05 < p.interval.high < 0.15


def test_a_share_of_one_and_a_score_that_says_nothing_are_no_division_by_zero():
    sizes = ClusterSizes(np.full(20, 5.0), 100.0)
    assert variance_by_core(np.full(20, 5.0), sizes, 1.0, 0.75) == np.inf
    assert variance_by_core(np.full(20, 4.0), sizes, 0.5, 0.75) == np.inf


# Invariances


def test_order_chunks_threads_and_the_kind_of_the_column_do_not_matter(model):
    frame, _ = sample_of(0.3)
    p = model.quantify(frame, cluster="patient")
    shuffled = frame.sample(frac=1, random_state=3)
    names = shuffled["patient"].map("p{}".format)
    assert model.quantify(shuffled, cluster="patient").interval == p.interval
    assert model.quantify(shuffled, cluster=names.to_numpy()).interval == p.interval
    batches = [shuffled[i : i + 77] for i in range(0, len(shuffled), 77)]
    for n_jobs in (1, 2):
        counts = engines.count(model, batches, by="patient", n_jobs=n_jobs)
        assert model.estimate(counts, cluster="patient").interval == p.interval


def test_weights_that_repeat_rows_are_repeated_rows(model):
    frame, _ = sample_of(0.3)
    frame["times"] = np.random.default_rng(2).integers(1, 4, len(frame))
    often = frame.loc[frame.index.repeat(frame["times"])]
    once = model.quantify(frame, weights="times", cluster="patient")
    assert once.interval == model.quantify(often, cluster="patient").interval


def test_a_common_factor_of_survey_weights_changes_nothing(model):
    frame, _ = sample_of(0.3)
    weight = np.random.default_rng(2).gamma(2, 0.5, len(frame))
    one, two = (
        model.quantify(frame, weights=factor * weight, cluster="patient") for factor in (1, 4)
    )
    assert one.interval.low == pytest.approx(two.interval.low, abs=1e-4)
    assert one.details["rows_worth"] == pytest.approx(two.details["rows_worth"], rel=1e-3)


# Groups


def test_groups_have_their_own_clusters(model):
    frame, _ = sample_of(0.3)
    table = model.quantify_by(frame, "night", cluster="patient")
    answers = model.quantify_groups(frame, "night", cluster="patient")
    assert answers.total.interval == model.quantify(frame, cluster="patient").interval
    for i, night in enumerate("ab"):
        alone = model.quantify(frame[frame["night"] == night], cluster="patient")
        assert answers[night].interval == alone.interval
        assert (table["low"][i], table["high"][i]) == tuple(alone.interval)


def test_groups_of_an_audit(pat):
    frame, positive = sample_of(0.3)
    to_label = poscount.audit(pat, frame, n=200, by="night")
    to_label["label"] = positive[to_label["audit_row"]]
    rows = poscount.settle(pat, frame, to_label)
    found = poscount.settle(pat, frame, to_label, cluster="patient")
    for key, p in found.groups.items():
        assert p.interval.width > rows.groups[key].interval.width
    with pytest.raises(InputError, match="More labels do not make up for few clusters"):
        found.labels_needed(width=0.05)


def test_a_trend_of_clusters(pat):
    frame, _ = sample_of(0.5, n=200, size=10)
    frame["week"] = frame["patient"] % 10
    rows, found = (poscount.trend(pat, frame, "week", cluster=c) for c in (None, "patient"))
    # Of the core, 1 + 9 * 0.5 * 0.68 = 4.05: that a row of a class is in it has no correlation.
    (note,) = (note for note in found.notes if "independent" in note)
    assert 1 / float(note.split()[-3]) == pytest.approx(4.05, rel=0.2)
    for one, other in zip(rows.points, found.points, strict=True):
        assert other.prevalence.high - other.prevalence.low > one.prevalence.high - (
            one.prevalence.low
        )
        assert other.n_rows == one.n_rows
    counts = engines.count(pat, frame, by=["week", "patient"])
    assert poscount.trend(pat, counts, cluster="patient").points == found.points


def test_clusters_of_a_series_without_change_are_not_taken_for_change(pat):
    marked = dict.fromkeys((None, "patient"), 0)
    for seed in range(20):
        frame, _ = sample_of(0.5, n=60, size=20, seed=seed)
        frame["week"] = frame["patient"] % 6
        for cluster in marked:
            found = poscount.trend(pat, frame, "week", cluster=cluster)
            changes = [point.from_previous for point in found.points[1:]]
            marked[cluster] += any(change.changed for change in changes)
    assert marked["patient"] <= 4
    assert marked[None] > 8


# What cannot be


def test_what_cannot_be_is_said_in_one_sentence(pat, positives):
    frame, _ = sample_of(0.3)
    few = frame[frame["patient"] < 9]
    with pytest.raises(InputError, match="There are 9 clusters, and"):
        pat.quantify(few, cluster="patient")
    one_sided = frame[(frame["patient"] < 9) | (frame["night"] == "b")]
    with pytest.raises(InputError, match="There are 9 clusters in a, and"):
        pat.quantify_by(one_sided, "night", cluster="patient")
    gaps = frame.assign(patient=frame["patient"].where(frame["patient"] != 3))
    for cluster in ("patient", gaps["patient"].to_numpy()):
        with pytest.raises(InputError, match="the cluster of some rows is missing"):
            pat.quantify(gaps, cluster=cluster)
    with pytest.raises(InputError, match="5 clusters for 1200 rows"):
        pat.quantify(frame, cluster=range(5))
    with pytest.raises(InputError, match="BBE cannot use cluster"):
        BBE().fit(positives).quantify(frame, cluster="patient")
    for call in (
        lambda: pat.quantify_by(frame, "patient", cluster="patient"),
        lambda: poscount.trend(pat, frame, "patient", cluster="patient"),
    ):
        with pytest.raises(InputError, match="each group would be a single one"):
            call()
    with pytest.raises(InputError, match="cannot be grouped by a feature"):
        pat.quantify(frame, cluster="a")
    with pytest.raises(InputError, match="of all clusters together"):
        pat.estimate(pat.count(frame), cluster="patient")
    with pytest.raises(InputError, match="groups by night: name the one"):
        pat.estimate(pat.count_by(frame, "night"), cluster="patient")


def test_an_interval_of_any_level_is_wider(pat):
    p = pat.quantify(sample_of(0.3)[0])
    wider = for_population(p, 0.03**2, ClusterSizes(np.full(60, 20.0), 1200.0), 59)
    for level in (0.5, 0.9, 0.99):
        ours, theirs = wider.distribution.interval(level), p.distribution.interval(level)
        assert ours.low <= theirs.low
        assert ours.high >= theirs.high
    assert float(wider) in wider.interval
    assert (np.diff(wider.distribution.quantiles) >= 0).all()


def test_on_the_command_line(poscount_, refused, positives, tmp_path):
    frame, positive = sample_of(0.3)
    frame["week"] = frame["patient"] % 5
    model, sample = RCQ(random_state=0).fit(positives), tmp_path / "sample.csv"
    frame.to_csv(sample, index=False)
    model.save(tmp_path / "model.poscount")
    asked = ("quantify", tmp_path / "model.poscount", sample)
    read = pd.read_csv(sample)
    p = model.quantify(read, cluster="patient")
    (found,) = poscount_(*asked, "--cluster", "patient", "--format", "json").results()
    assert (found["interval"]["low"], found["interval"]["high"]) == tuple(p.interval)
    assert (found["clusters"], found["rows_worth"]) == (60, p.details["rows_worth"])
    assert "behind the 60 clusters" in poscount_(*asked, "--cluster", "patient").out
    total, *nights = poscount_(
        *asked, "--cluster", "patient", "--by", "night", "--format", "json"
    ).results()
    assert total["interval"]["high"] == p.interval.high
    groups = model.quantify_groups(read, "night", cluster="patient")
    assert [each["interval"]["high"] for each in nights] == [
        each.interval.high for each in groups.values()
    ]
    total, _ = poscount_(*asked, "--cluster", "patient", "--by-file", "--format", "json").results()
    assert total["interval"]["high"] == p.interval.high
    assert "There are 2 clusters" in refused(*asked, "--cluster", "night")
    assert "a single one" in refused(*asked, "--cluster", "patient", "--by", "patient")
    # The column of the clusters is no feature.
    known = positives.assign(patient=np.arange(len(positives)) % 7)
    known.to_csv(tmp_path / "positives.csv", index=False)
    both = ("estimate", tmp_path / "positives.csv", sample, "--cluster", "patient")
    told = poscount_(*both)
    assert "behind the 60 clusters" in told.out
    assert "patient" not in told.out
    refusal = poscount_(*both, "--method", "bbe").err
    assert "BBE cannot allow for clusters" in refusal
    assert refusal.endswith("Leave --cluster out.\n")
    labels = tmp_path / "labels.csv"
    poscount_("audit", *asked[1:], "-o", labels)
    table = pd.read_csv(labels)
    table["label"] = np.where(positive[table["audit_row"] - 1], "yes", "no")
    table.to_csv(labels, index=False)
    told = poscount_("settle", *asked[1:], labels, "--cluster", "patient", "--format", "json")
    settled = poscount.settle(
        model,
        read,
        poscount.audit(model, read).assign(label=table["label"]),
        cluster="patient",
    )
    assert told.results()["labels"]["high"] == settled.prevalence.interval.high
    text = poscount_("settle", *asked[1:], labels, "--cluster", "patient").out
    assert "behind the 60 clusters" in text
    told = poscount_("trend", *asked[1:], "--by", "week", "--cluster", "patient").out
    assert "By its clusters, a row is worth" in told
