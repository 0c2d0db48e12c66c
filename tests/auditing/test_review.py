"""Recall and elusion of a review, by the labels of an audit."""

import json

import numpy as np
import pandas as pd
import pytest

import poscount
from poscount import RCQ, InputError

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

N_POSITIVE, N_NEGATIVE = 500, 1500


def rows_of(centre, n, rng):
    return pd.DataFrame(rng.normal(centre, 1, size=(n, 3)), columns=list("abc"))


@pytest.fixture(scope="module")
def model():
    return RCQ(random_state=0).fit(rows_of(0, 300, np.random.default_rng(1)))


@pytest.fixture(scope="module")
def trap():
    """Rows with a score, of which the first are positive."""
    rng = np.random.default_rng(0)
    rows = pd.concat([rows_of(0, N_POSITIVE, rng), rows_of(2, N_NEGATIVE, rng)], ignore_index=True)
    return rows.assign(score=-rows.mean(axis=1))


@pytest.fixture(scope="module")
def positive():
    return np.arange(N_POSITIVE + N_NEGATIVE) < N_POSITIVE


def settled_of(model, trap, positive, n, seed=0):
    to_label = poscount.audit(model, trap, n=n, random_state=seed)
    to_label["label"] = positive[to_label["audit_row"]]
    return poscount.settle(model, trap, to_label)


def truth_of(kept, positive):
    return (kept & positive).sum() / positive.sum(), (~kept & positive).sum() / (~kept).sum()


def test_labels_of_all_rows_are_the_truth(model, trap, positive):
    settled = settled_of(model, trap, positive, len(trap))
    for threshold in (-2.0, -1.0, 0.0):
        kept = (trap["score"] >= threshold).to_numpy()
        found = settled.review(kept)
        recall, elusion = truth_of(kept, positive)
        assert found.recall.value == pytest.approx(recall)
        assert found.elusion.value == pytest.approx(elusion)
        assert found.recall.interval.width < 0.01
        assert found.elusion.interval.width < 0.01
        assert (found.n_kept, found.n_left_out) == (kept.sum(), (~kept).sum())


def test_the_intervals_hold(model, trap, positive):
    held, n = {"recall": 0, "elusion": 0}, 40
    kept = (trap["score"] >= -0.8).to_numpy()
    truth = dict(zip(held, truth_of(kept, positive), strict=True))
    for seed in range(n):
        found = settled_of(model, trap, positive, 150, seed).review(kept)
        for name, value in truth.items():
            held[name] += value in getattr(found, name).interval
            assert getattr(found, name).value in getattr(found, name).interval
    # Of 40 with a probability of .95, fewer than 33 hold in 1 of 1,000 cases.
    assert min(held.values()) >= 33


def test_a_review_without_any_sense_finds_its_share(model, trap, positive):
    kept = np.arange(len(trap)) % 4 == 0
    found = settled_of(model, trap, positive, 400).review(kept)
    assert 0.25 in found.recall.interval
    assert 0.25 in found.elusion.interval
    with pytest.raises(InputError, match=r"no number of labels shows 0\.95: keep more rows"):
        found.labels_needed(recall=0.95)


def test_so_many_labels_are_needed(model, trap, positive):
    kept = (trap["score"] >= -1.5).to_numpy()
    found = settled_of(model, trap, positive, 300).review(kept)
    assert found.recall.value > 0.97
    few, many = (found.labels_needed(recall=wanted) for wanted in (0.7, 0.9))
    assert 0 < few < many <= len(trap)
    # About: it takes the labels so far for the truth.
    with_more = settled_of(model, trap, positive, 2 * many).review(kept)
    assert with_more.recall.interval.low > 0.9


def test_what_cannot_be_reviewed(model, trap, positive):
    settled = settled_of(model, trap, positive, 50)
    kept = (trap["score"] >= -1.0).to_numpy()
    for wrong in (kept[:-1], trap["score"].to_numpy(), kept[:, np.newaxis]):
        with pytest.raises(InputError, match="says of each of the 2000 rows whether it was kept"):
            settled.review(wrong)
    for wrong, word in ((kept | True, "all"), (kept & False, "none")):
        with pytest.raises(InputError, match=f"kept {word} of the rows"):
            settled.review(wrong)
    with pytest.raises(InputError, match=r"between 0 and 1, such as 0\.95, not 1"):
        settled.review(kept).labels_needed(recall=1)
    weighted = trap.assign(w=1.5)
    to_label = poscount.audit(model, weighted, n=50, weights="w").assign(label=True)
    with pytest.raises(InputError, match="audit without weights"):
        poscount.settle(model, weighted, to_label).review(kept)


def test_on_the_command_line(poscount_, refused, model, trap, positive, tmp_path):
    trap.to_csv(tmp_path / "trap.csv", index=False)
    model.save(tmp_path / "model.poscount")
    asked = (tmp_path / "model.poscount", tmp_path / "trap.csv")
    poscount_("audit", *asked, "-n", 200, "-o", tmp_path / "labels.csv")
    table = pd.read_csv(tmp_path / "labels.csv")
    table["label"] = np.where(positive[table["audit_row"] - 1], "yes", "no")
    table.to_csv(tmp_path / "labels.csv", index=False)
    settle = ("settle", *asked, tmp_path / "labels.csv", "--score", "score")
    at = (*settle, "--threshold", -1.5, "--recall", 0.9)
    read = pd.read_csv(tmp_path / "trap.csv")
    found = settled_of(model, read, positive, 200).review(read["score"].to_numpy() >= -1.5)
    told = poscount_(*at, "--format", "json").results()["review"]
    expected = {"wanted_recall": 0.9, "labels_needed": found.labels_needed(recall=0.9)}
    assert told == json.loads(json.dumps(found.to_dict() | expected))
    text = poscount_(*at).out
    assert str(found) in text  # in two lines
    assert f"About {expected['labels_needed']} labels show" in text
    assert "--threshold" in refused(*settle)
    assert "column 'scores'" in refused(*settle[:-1], "scores", "--threshold", 0)
