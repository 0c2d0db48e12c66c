"""One dimension of wide rows that is learned from positives and unlabeled rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ks_2samp

import poscount
from answers import assert_same_answer
from poscount import RCQ
from poscount.data.learned_projection import N_FOLDS, learn_from_both
from poscount.data.projection import learn_projection
from poscount.errors import InputError

N_WORDS = 600


def texts(rng, n, topic):
    """Thirty words a text: most are anybody's, and five are of its topic."""
    often = 1 / np.arange(1, 101)
    rows = np.repeat(np.arange(n), 30)
    words = rng.choice(100, (n, 30), p=often / often.sum())
    words[:, :5] = 100 + 250 * topic + rng.integers(250, size=(n, 5))
    values = np.ones(30 * n)
    return sparse.csr_array((values, (rows, words.ravel())), shape=(n, N_WORDS))


def dense(rng, n, topic):
    return rng.normal(size=(n, 300)) + 0.15 * topic


@pytest.fixture(scope="module", params=[texts, dense], ids=["sparse", "dense"])
def sides(request):
    rng = np.random.default_rng(0)
    draw = request.param
    return draw(rng, 200, 0), stacked(draw(rng, 100, 0), draw(rng, 500, 1)), draw(rng, 400, 0)


def stacked(*parts):
    return sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.vstack(parts)


def learn(positives, reference, seed=0):
    return learn_from_both(learn_projection(positives, seed), positives, reference, seed)


def test_it_tells_positives_from_others(sides):
    positives, reference, new = sides
    learned = learn(positives, reference)
    assert learned.n_dimensions == learned.drawn_.n_dimensions + 1
    of_new, of_others = (learned.apply(rows)[:, -1] for rows in (new, reference[100:]))
    assert (of_new[:, np.newaxis] > of_others).mean() > 0.8


def test_labelled_and_new_positives_have_the_same_margins(sides):
    positives, reference, new = sides
    learned = learn(positives, reference)
    of_labeled, of_new = (learned.apply(rows)[:, -1] for rows in (positives, new))
    assert ks_2samp(of_labeled, of_new).pvalue > 0.01
    # What a classifier says of the rows that it has learned from is another matter.
    folds = learned._folds(learned._scaled(positives))
    margins = learned._scaled(positives) @ learned.coefficient_.T + learned.intercept_
    seen = margins[np.arange(len(folds)), (folds + 1) % N_FOLDS]
    assert ks_2samp(seen, of_new).pvalue < 1e-3


def test_a_fold_has_not_seen_its_rows():
    """Of dense rows, because units of sparse columns are learned from all rows."""
    rng = np.random.default_rng(0)
    positives, reference = dense(rng, 200, 0), dense(rng, 600, 1)
    learned = learn(positives, reference)
    first, second, *_ = np.flatnonzero(learned._folds(learned._scaled(reference)) == 2)
    reference[first] = reference[second]
    again = learn(positives, reference)
    np.testing.assert_array_equal(again.coefficient_[2], learned.coefficient_[2])
    assert (again.coefficient_[0] != learned.coefficient_[0]).any()


def test_the_order_of_rows_and_columns_does_not_matter(sides):
    positives, reference, new = sides
    rng = np.random.default_rng(1)
    one = learn(positives, reference).apply(new)
    rows, others = rng.permutation(positives.shape[0]), rng.permutation(reference.shape[0])
    np.testing.assert_array_equal(learn(positives[rows], reference[others]).apply(new), one)
    columns = rng.permutation(new.shape[1])
    other = learn(positives[:, columns], reference[:, columns]).apply(new[:, columns])
    np.testing.assert_allclose(other[:, -1], one[:, -1], atol=1e-3)


def test_rows_one_by_one(sides):
    positives, reference, new = sides
    learned = learn(positives, reference)
    one_by_one = np.vstack([learned.apply(new[[i]]) for i in range(20)])
    np.testing.assert_array_equal(learned.apply(new)[:20], one_by_one)


def test_without_anything_to_tell_rows_by():
    rng = np.random.default_rng(0)
    positives = texts(rng, 200, 0)
    empty = sparse.csr_array((5, N_WORDS))
    learned = learn(positives, empty)
    assert np.isfinite(learned.apply(sparse.vstack([positives, empty]).tocsr())).all()


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_words_that_few_texts_have_are_evidence(share):
    """Five words of a topic among thirty, each in one text of fifty: sums of words are blind."""
    rng = np.random.default_rng(0)
    positives = texts(rng, 400, 0)
    n = round(800 * share)
    sample = stacked(texts(rng, n, 0), texts(rng, 800 - n, 1))
    reference = stacked(texts(rng, 200, 0), texts(rng, 1800, 1))
    model = RCQ(calibration="null", random_state=0)
    alone = abs(float(model.fit(positives).quantify(sample)) - share)
    learned = abs(float(model.fit(positives, unlabeled=reference).quantify(sample)) - share)
    assert alone > 0.3
    assert learned < 0.15


def test_save_and_load(sides, tmp_path):
    positives, reference, new = sides
    model = RCQ(calibration="null", random_state=0).fit(positives, unlabeled=reference)
    model.save(tmp_path / "model.poscount")
    again = poscount.load(tmp_path / "model.poscount")
    assert_same_answer(again.quantify(new), model.quantify(new))
    assert model.projection_.names[-1] == "learned direction"
    model.projection_.coefficient_[0, 0] += 1
    with pytest.raises(InputError, match="its content is not what its hash says"):
        model.save(tmp_path / "model.poscount")


def test_a_file_whose_classifier_looks_at_no_column(sides):
    positives, reference, _ = sides
    learned = learn(positives, reference)
    learned.places_[-1] = learned.n_columns
    with pytest.raises(ValueError, match="column that there is not"):
        learned.check_learned()
