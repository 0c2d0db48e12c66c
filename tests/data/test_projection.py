"""Projections of wide and sparse rows: what may change the result of a row, and what may not."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone

from poscount import RCQ, InputError, registry
from poscount.data.projection import FARTHEST, N_DIMENSIONS, Projection, learn_projection
from poscount.storage import model_files as persistence

FORMS = ("dense", "sparse")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def dense_rows(rng, n_rows, n_columns=300):
    return rng.normal(size=(n_rows, n_columns)) * rng.uniform(0.1, 10, n_columns) + 5


def sparse_rows(rng, n_rows, n_columns=300):
    """Counts, the columns from common to rare."""
    shares = np.linspace(0.9, 0.001, n_columns)
    return sparse.csr_array(rng.poisson(shares, (n_rows, n_columns)).astype(float))


def rows_of(form, rng, n_rows, n_columns=300):
    make = dense_rows if form == "dense" else sparse_rows
    return make(np.random.default_rng(rng.integers(2**32)), n_rows, n_columns)


def same_projection(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("dimension_", "location_", "weight_", "sparse_")
    )


# What it is


def test_a_dimension_is_the_signed_sum_of_its_standardised_columns(rng):
    positives, sample = dense_rows(rng, 80), dense_rows(rng, 30)
    projection = learn_projection(positives, 3)
    z = (sample - positives.mean(axis=0)) / positives.std(axis=0)
    signs = np.sign(projection.weight_)
    for i in range(N_DIMENSIONS):
        mine = projection.dimension_ == i
        expected = (z * signs)[:, mine].sum(axis=1)
        np.testing.assert_allclose(projection.apply(sample)[:, i], expected)


def test_a_sparse_row_is_divided_by_its_length_in_the_common_columns(rng):
    positives, sample = sparse_rows(rng, 200), sparse_rows(rng, 30)
    projection = learn_projection(positives, 3)
    there = (positives.toarray() != 0).mean(axis=0)
    common = np.flatnonzero(there >= 0.2)
    assert np.array_equal(np.flatnonzero(projection.dimension_ >= 0), common)
    signs = np.sign(projection.weight_)[common]
    rms = np.sqrt((positives.toarray()[:, common] ** 2).mean(axis=0))
    z = sample.toarray()[:, common] * signs / rms
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    expected = np.zeros((30, N_DIMENSIONS))
    np.add.at(expected.T, projection.dimension_[common], z.T)
    np.testing.assert_allclose(projection.apply(sample), expected)


def test_columns_are_dealt_evenly(rng):
    sizes = np.bincount(learn_projection(dense_rows(rng, 50, 1000), 0).dimension_)
    assert len(sizes) == N_DIMENSIONS
    assert np.ptp(sizes) == 1


def test_dimensions_have_names(rng):
    projection = learn_projection(dense_rows(rng, 50), 0)
    assert projection.names[0] == "projection 1"
    assert len(projection.names) == N_DIMENSIONS


# What must not matter


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_columns", [70, 300, 5000])
def test_a_row_is_projected_to_the_last_bit_alike_wherever_it_stands(form, n_columns, rng):
    projection = learn_projection(rows_of(form, rng, 60, n_columns), 0)
    sample = rows_of(form, rng, 1000, n_columns)
    whole = projection.apply(sample)
    order = rng.permutation(1000)
    assert np.array_equal(projection.apply(sample[order]), whole[order])
    for start, stop in ((0, 1), (3, 10), (500, 777), (999, 1000)):
        assert np.array_equal(projection.apply(sample[start:stop]), whole[start:stop])


def test_memory_order_does_not_matter(rng):
    projection = learn_projection(dense_rows(rng, 60), 0)
    sample = dense_rows(rng, 100)
    expected = projection.apply(sample)
    assert np.array_equal(projection.apply(np.asfortranarray(sample)), expected)
    assert np.array_equal(projection.apply(np.repeat(sample, 2, axis=1)[:, ::2]), expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_positives_does_not_matter(form, seed, rng):
    positives = rows_of(form, rng, 60)
    shuffled = positives[rng.permutation(60)]
    assert same_projection(learn_projection(positives, seed), learn_projection(shuffled, seed))


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_the_columns_does_not_matter(form, rng):
    positives, sample = rows_of(form, rng, 60), rows_of(form, rng, 40)
    order = rng.permutation(300)
    expected = learn_projection(positives, 1).apply(sample)
    found = learn_projection(positives[:, order], 1).apply(sample[:, order])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_columns_of_zeros_and_ones_are_told_apart_by_the_rows_that_have_them(rng):
    positives = np.array([rng.permutation([0.0] * 30 + [1.0] * 30) for _ in range(200)]).T
    order = rng.permutation(200)
    expected = learn_projection(positives, 1).apply(positives)
    found = learn_projection(positives[:, order], 1).apply(positives[:, order])
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_unit_of_a_column_does_not_matter(form, rng):
    positives, sample = rows_of(form, rng, 60), rows_of(form, rng, 40)
    units = sparse.diags_array(rng.uniform(0.001, 1000, 300))
    expected = learn_projection(positives, 1).apply(sample)
    found = learn_projection(positives @ units, 1).apply(sample @ units)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_shift_of_a_column_does_not_matter(rng):
    positives, sample, shift = dense_rows(rng, 60), dense_rows(rng, 40), rng.normal(size=300)
    expected = learn_projection(positives, 1).apply(sample)
    found = learn_projection(positives + shift, 1).apply(sample + shift)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_length_of_a_sparse_row_does_not_matter(rng):
    projection, sample = learn_projection(sparse_rows(rng, 60), 0), sparse_rows(rng, 40)
    np.testing.assert_allclose(projection.apply(sample * 7), projection.apply(sample))


def test_how_a_sparse_matrix_is_stored_does_not_matter(rng):
    positives, sample = sparse_rows(rng, 60), sparse_rows(rng, 40)
    projection = learn_projection(positives, 0)
    expected = projection.apply(sample)
    twice = sparse.coo_array(
        (
            np.concatenate([sample.tocoo().data, -sample.tocoo().data, sample.tocoo().data]),
            tuple(np.tile(index, 3) for index in sample.tocoo().coords),
        ),
        shape=sample.shape,
    )
    unsorted = sample.tocsc().tocsr()
    unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
    for start, stop in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[start:stop] = unsorted.indices[start:stop][::-1]
        unsorted.data[start:stop] = unsorted.data[start:stop][::-1]
    unsorted = sparse.csr_array((unsorted.data, unsorted.indices, unsorted.indptr), sample.shape)
    before = unsorted.indices.copy()
    for form in (sparse.csr_matrix(sample), sample.tocsc(), twice, unsorted, sample.toarray()):
        assert np.array_equal(projection.apply(form), expected)
    assert np.array_equal(unsorted.indices, before)
    assert same_projection(learn_projection(positives.tocsc(), 0), projection)


def test_a_sparse_sample_for_a_projection_of_a_table(rng):
    projection, sample = learn_projection(dense_rows(rng, 60), 0), sparse_rows(rng, 40)
    assert np.array_equal(projection.apply(sample), projection.apply(sample.toarray()))


def test_float32_rows_are_projected_as_float64(rng):
    single = dense_rows(rng, 60).astype(np.float32)
    projection = learn_projection(single, 0)
    assert same_projection(projection, learn_projection(single.astype(float), 0))
    assert np.array_equal(projection.apply(single), projection.apply(single.astype(float)))


def test_the_seed_decides(rng):
    positives = dense_rows(rng, 60)
    assert same_projection(learn_projection(positives, 5), learn_projection(positives, 5))
    assert not same_projection(learn_projection(positives, 5), learn_projection(positives, 6))


# What is odd


def test_constant_columns_do_not_count(rng):
    positives, sample = dense_rows(rng, 60), dense_rows(rng, 40)
    positives[:, ::3] = 0.1
    projection = learn_projection(positives, 0)
    assert np.array_equal(projection.dimension_ < 0, np.arange(300) % 3 == 0)
    other = sample.copy()
    other[:, ::3] = 1e9
    assert np.array_equal(projection.apply(sample), projection.apply(other))


def test_only_constant_columns():
    with pytest.raises(InputError, match="All 300 columns are constant among the positives"):
        learn_projection(np.full((5, 300), 0.1), 0)


@pytest.mark.parametrize("n_common", [0, 7])
def test_only_rare_columns(n_common, rng):
    positives = (rng.random((200, 5000)) < 0.002).astype(float)
    positives[:, :n_common] = 1
    with pytest.raises(InputError, match=f"Only {n_common} of the 5000 columns .* 20 positives"):
        learn_projection(sparse.csr_array(positives), 0)


def test_few_columns_have_a_dimension_each(rng):
    projection = learn_projection(dense_rows(rng, 10, 7), 0)
    assert sorted(projection.dimension_) == list(range(7))


def test_rarer_columns_count_if_few_are_common(rng):
    shares = np.repeat([0.5, 0.12, 0.02], [10, 100, 890])
    positives = sparse.csr_array((rng.random((300, 1000)) < shares).astype(float))
    projection = learn_projection(positives, 0)
    assert projection.n_dimensions == N_DIMENSIONS
    counts = np.diff(positives.tocsc().indptr)
    used = projection.dimension_ >= 0
    assert used.sum() == N_DIMENSIONS
    assert counts[used].min() >= max(20, counts[~used].max())


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(form, rng):
    projection = learn_projection(rows_of(form, rng, 60), 0)
    assert projection.apply(rows_of(form, rng, 20)[:0]).shape == (0, N_DIMENSIONS)


def test_a_sparse_row_without_common_columns_is_zero(rng):
    projection = learn_projection(sparse_rows(rng, 200), 0)
    rare = sparse.csr_array(([1.0], ([0], [299])), shape=(1, 300))
    assert not projection.apply(rare).any()


@pytest.mark.parametrize("form", FORMS)
def test_another_number_of_columns_is_an_error(form, rng):
    projection = learn_projection(rows_of(form, rng, 60), 0)
    with pytest.raises(InputError, match="have 299 columns, but the model was fitted on 300"):
        projection.apply(rows_of(form, rng, 5)[:, :299])


@given(
    positives=arrays(
        float,
        st.tuples(st.integers(1, 30), st.integers(1, 90)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
        fill=st.floats(allow_nan=False, allow_infinity=False),
    ),
    is_sparse=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=200)
def test_any_finite_rows_have_finite_projections(positives, is_sparse, seed):
    given_rows = sparse.csr_array(positives) if is_sparse else positives
    try:
        projection = learn_projection(given_rows, seed)
    except InputError:
        too_few = np.count_nonzero((positives != 0).sum(axis=0) >= 20) < 8
        # Constant, or varying by less than a float can tell.
        assert too_few if is_sparse else np.ptp(positives / 2, axis=0).max() < 1e-300
        return
    for rows in (positives, np.flip(positives, axis=1), -positives):
        found = projection.apply(sparse.csr_array(rows) if is_sparse else rows)
        assert np.isfinite(found).all()
        assert abs(found).max() <= FARTHEST * positives.shape[1]
        for i in range(len(rows)):
            alone = sparse.csr_array(rows[i : i + 1]) if is_sparse else rows[i : i + 1]
            assert np.array_equal(projection.apply(alone)[0], found[i])


# As part of a model


def test_copies(rng):
    projection = learn_projection(dense_rows(rng, 60), 0)
    for copied in (pickle.loads(pickle.dumps(projection)), copy.deepcopy(projection)):
        assert same_projection(copied, projection)
    assert isinstance(clone(projection), Projection)


def test_model_files_can_hold_one(rng):
    projection = learn_projection(sparse_rows(rng, 60), 0)
    writer = persistence._Writer()
    encoded = writer.encode(projection, "projection")
    reader = persistence._Reader(writer.arrays, registry._class_named, registry._shipped, ())
    assert same_projection(reader.decode(encoded), projection)
    reader.finish()


# What it is for


@pytest.mark.parametrize("seed", range(3))
def test_new_positives_look_like_the_labelled_ones(seed):
    """With more columns than positives, whatever is fitted to their directions fails here."""
    rng = np.random.default_rng(seed)
    positives, sample = rng.normal(size=(100, 1000)), rng.normal(size=(500, 1000))
    projection = learn_projection(positives, seed)
    model = RCQ(random_state=seed).fit(projection.apply(positives))
    assert model.quantify(projection.apply(sample)) > 0.9


@pytest.mark.parametrize("n_columns", [1000, 5000])
def test_negatives_of_a_wide_table_are_found(n_columns, rng):
    mixing = rng.normal(size=(20, n_columns))
    positives = rng.normal(size=(200, 20)) @ mixing
    sample = (rng.normal(size=(500, 20)) + np.repeat([0.0, 2.0], [150, 350])[:, None]) @ mixing
    projection = learn_projection(positives, 0)
    answer = RCQ(random_state=0).fit(projection.apply(positives)).quantify(projection.apply(sample))
    assert abs(answer - 0.3) < 0.05
