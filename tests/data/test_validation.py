import pickle
from datetime import datetime, timedelta

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import PAT, Distribution, InputError, Mahalanobis, ODIn
from poscount.data.rows import InputSupport, Rows
from poscount.data.validation import input_support
from poscount.results.distribution import LEVELS

WRONG = {"infinity": np.inf, "minus infinity": -np.inf}


def problem(call, *arguments, **options):
    """The error of a call: one line that reads as a sentence."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return caught.value


@pytest.fixture
def named(make_frame, positives):
    return PAT(random_state=0).fit(make_frame(positives))


@pytest.fixture
def pat(positives):
    return PAT(random_state=0).fit(positives)


# NaN and infinity: which column, which row first


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("method", ["quantify", "count", "posterior", "predict"])
def test_wrong_value_in_an_array(pat, sample, what, method):
    sample = sample.copy()
    sample[[17, 5, 300], [0, 2, 1]] = WRONG[what]
    error = problem(getattr(pat, method), sample)
    assert (error.column, error.row) == ("2", 5)
    assert str(error).startswith("column '2', row 5: infinity")


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("method", ["quantify", "fit"])
def test_wrong_value_in_a_frame(named, make_frame, sample, what, method):
    sample = sample.copy()
    sample[[17, 5, 300], [0, 2, 1]] = WRONG[what]
    error = problem(getattr(named, method), make_frame(sample))
    assert (error.column, error.row) == ("c", 5)


def test_the_first_row_counts_whatever_is_wrong_with_it(named, make_frame, sample):
    columns = [column.tolist() for column in sample.T]
    columns[0][9], columns[1][6], columns[2][7] = float("inf"), None, float("inf")
    columns = dict(zip("abc", columns, strict=True))
    error = problem(named.quantify, make_frame(columns))
    assert (error.column, error.row) == ("c", 7)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@pytest.mark.usefixtures("small_blocks")
def test_wrong_value_in_a_late_block(make_frame, positives, sample, n_jobs):
    model = PAT(n_jobs=n_jobs, random_state=0).fit(make_frame(positives))
    sample = sample.copy()
    for row in range(333, 400, 7):
        sample[row, 1] = np.inf
    error = problem(model.quantify, make_frame(sample))
    assert (error.column, error.row) == ("b", 333)
    grouped = make_frame({**dict(zip("abc", sample.T, strict=True)), "g": ["x"] * 400})
    error = problem(model.quantify_by, grouped, "g")
    assert (error.column, error.row) == ("b", 333)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_wrong_value_after_the_first_real_block(positives, n_jobs):
    model = PAT(n_jobs=n_jobs, random_state=0).fit(positives)
    sample = np.zeros((200_000, 3), dtype=np.float32)
    sample[199_999, 1] = np.inf
    error = problem(model.count, sample)
    assert (error.column, error.row) == ("1", 199_999)


MISSING = {
    "pandas Float64": lambda v: pd.DataFrame({"a": pd.array(v, dtype="Float64")}),
    "pandas Int64": lambda v: pd.DataFrame({"a": pd.array(v, dtype="Int64")}),
    "pandas float": lambda v: pd.DataFrame({"a": v}, dtype=float),
    "polars float": lambda v: pl.DataFrame({"a": v}, schema={"a": pl.Float32}),
    "polars int": lambda v: pl.DataFrame({"a": v}, schema={"a": pl.Int64}),
    "pyarrow float": lambda v: pa.table({"a": pa.array(v, pa.float64())}),
    "pyarrow int": lambda v: pa.table({"a": pa.array(v, pa.int16())}),
    "pyarrow chunks": lambda v: pa.table({"a": pa.chunked_array([v[:2], v[2:]], pa.int64())}),
    "object array": lambda v: np.array(v, dtype=object)[:, None],
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_of_every_kind_are_seen(kind):
    values = [0, 1, 5, 1, 0, 1, 0, 2, 1, 0, 1, 3, None, 1, None]
    (column,) = PAT(random_state=0).fit(MISSING[kind](values)).columns_
    assert (column.kind, column.missing) == ("number", pytest.approx(2 / 15))


def test_sums_that_overflow_are_not_mistaken_for_infinity(positives, sample):
    pat = PAT(random_state=0).fit(positives)
    huge = np.full((3, 3), 1.7e308)
    assert pat.count(huge).cells[0] == 3
    assert pat.count(np.vstack([sample, huge])).cells[-1] == pat.count(sample).cells[-1]


def test_sparse_wrong_value():
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.uniform(size=(60, 4)) * rng.integers(0, 2, size=(60, 4)))
    model = PAT(OneClassSVM(), random_state=0).fit(rows)
    bad = rows.tolil()
    bad[7, 2] = np.nan
    bad[30, 0] = np.inf
    error = problem(model.quantify, bad.tocsr())
    assert (error.column, error.row) == ("2", 7)


def test_a_scorer_that_takes_nan_gets_sparse_rows_as_they_are():
    dense = np.maximum(np.random.default_rng(0).normal(size=(300, 4)), 0)
    scorer = IsolationForest(n_estimators=5, random_state=0)
    plain = PAT(scorer, random_state=0).fit(dense)
    model = PAT(scorer, random_state=0).fit(sparse.csr_array(dense))
    assert model.count(sparse.csr_array(dense)).cells.tolist() == plain.count(dense).cells.tolist()


def test_a_scorer_that_takes_text_gets_arrays_of_it():
    kinds = np.array(["x", "y", "z"] * 40)[:, np.newaxis]
    scorer = make_pipeline(OneHotEncoder(handle_unknown="ignore"), OneClassSVM())
    for array in (kinds, kinds.astype(object)):
        model = PAT(scorer, random_state=0).fit(array)
        assert model.count(array).n == 120


# Columns


def test_text_column(make_frame, positives):
    columns = dict(zip("ab", positives.T, strict=False))
    frame = make_frame({**columns, "species": ["x"] * len(positives)})
    error = problem(PAT(make_pipeline(SimpleImputer(), OneClassSVM())).fit, frame)
    assert (error.column, error.option, error.value) == ("species", "features", ["a", "b"])
    assert str(error).endswith("Set features=['a', 'b'].")
    assert PAT(random_state=0).fit(frame, features=["b", "a"]).n_features_in_ == 2
    # The names of many columns would drown the sentence, and of none there is nothing to say.
    many = {f"x{j}": positives[:, 0] for j in range(21)}
    for others in (many, {}):
        frame = make_frame({**others, "species": ["x"] * len(positives)})
        assert (
            error := problem(PAT(make_pipeline(SimpleImputer(), OneClassSVM())).fit, frame)
        ).column == "species"
        assert error.option is None


def test_text_column_in_the_sample(named, make_frame, sample):
    columns = dict(zip("abc", sample.T, strict=True))
    error = problem(named.quantify, make_frame({**columns, "b": ["x"] * len(sample)}))
    assert error.column == "b"
    assert error.option is None  # the model needs this column


def test_text_in_an_array(pat):
    error = problem(pat.quantify, np.array([["x", "y", "z"]]))
    assert "it holds words here, but held numbers" in error.message


def test_dates_are_no_numbers(make_frame):
    frame = make_frame(
        {"a": np.arange(24) / 2, "day": [datetime(2026, 1, i + 1) for i in range(24)]}
    )
    with pytest.warns(UserWarning, match="Dates are not used as features: 'day'"):
        model = PAT(random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a"]
    assert model.columns_["day"].kind == "left out"
    # Asked for by name, they are days since 1970; the mean is the noon of the twelfth.
    asked = PAT(random_state=0).fit(frame, features=["a", "day"])
    noon = (datetime(2026, 1, 12, 12) - datetime(1970, 1, 1)) / timedelta(days=1)
    assert asked.columns_["day"].mean == pytest.approx(noon, abs=1e-6)


def test_missing_column(named, make_frame, sample):
    columns = dict(zip(["a", "see"], sample.T, strict=False))
    error = problem(named.quantify, make_frame(columns))
    assert error.column == "b"
    assert "a, see" in str(error)


def test_missing_feature_at_fit(make_frame, positives):
    error = problem(PAT().fit, make_frame(positives), features=["a", "z"])
    assert error.column == "z"


def test_other_columns_and_other_order_are_fine(named, make_frame, sample):
    a, b, c = sample.T
    other = make_frame({"id": np.arange(400), "c": c, "note": ["x"] * 400, "a": a, "b": b})
    assert named.count(other) == named.count(make_frame(sample))
    assert np.array_equal(named.posterior(other), named.posterior(make_frame(sample)))


@pytest.mark.parametrize("features", [["b"], "b", ("b",)])
def test_one_feature(make_frame, positives, sample, features):
    model = PAT(random_state=0).fit(make_frame(positives), features=features)
    alone = PAT(random_state=0).fit(positives[:, [1]])
    assert list(model.feature_names_in_) == ["b"]
    assert_same_answer(model.quantify(make_frame(sample)), alone.quantify(sample[:, [1]]))


@pytest.mark.parametrize(
    ("features", "column"), [(["a", "b", "a"], "a"), ([], None)], ids=["twice", "none"]
)
def test_features_that_make_no_sense(make_frame, positives, features, column):
    assert problem(PAT().fit, make_frame(positives), features=features).column == column


def test_features_need_names(positives):
    error = problem(PAT().fit, positives, features=["a"])
    assert "no column names" in error.message
    assert (error.option, error.leave_out) == ("features", True)


def test_wrong_number_of_columns_in_an_array(pat, sample):
    with pytest.raises(ValueError, match="2 features"):
        pat.quantify(sample[:, :2])


def test_two_columns_of_one_name(positives):
    frame = pd.DataFrame(positives, columns=["a", "b", "a"])
    assert problem(PAT().fit, frame).column == "a"


def test_a_record_batch_is_a_frame(named, positives, sample):
    batch = pa.table(dict(zip("cab", sample[:, [2, 0, 1]].T, strict=True))).to_batches()[0]
    frame = pl.DataFrame(sample, schema=["a", "b", "c"])
    assert named.count(batch) == named.count(frame)
    assert_same_answer(named.quantify(batch), named.quantify(frame))
    learned = pa.table(dict(zip("abc", positives.T, strict=True))).to_batches()[0]
    assert PAT(random_state=0).fit(learned).hash_ == named.hash_


def test_lazy_frames_come_into_memory(named, positives, sample):
    lazy = pl.DataFrame(sample, schema=["a", "b", "c"]).lazy()
    other = lazy.with_columns(pl.col("a").map_batches(_must_not_be_read, pl.Float64).alias("other"))
    assert_same_answer(named.quantify(other), named.quantify(lazy.collect()))
    learned = PAT(random_state=0).fit(pl.DataFrame(positives, schema=["a", "b", "c"]).lazy())
    assert learned.hash_ == named.hash_


def _must_not_be_read(_):
    raise AssertionError("a column that the model does not need was computed")


def test_datasets_come_into_memory(named, sample):
    table = pa.table(dict(zip("abc", sample.T, strict=True)))
    dataset = pyarrow.dataset.dataset(table)
    assert_same_answer(named.quantify(dataset), named.quantify(table))


def test_weights_and_rows_of_a_lazy_frame_come_together(named, sample):
    """The rows of a relation may come in another order each time, and so must come once."""
    duckdb = pytest.importorskip("duckdb")
    weights = np.arange(len(sample)) % 4
    table = pa.table({**dict(zip("abc", sample.T, strict=True)), "times": weights})
    relation = duckdb.from_arrow(table).query("t", "SELECT * FROM t ORDER BY random()")
    assert_same_answer(
        named.quantify(relation, weights="times"), named.quantify(table, weights="times")
    )


def test_names_that_are_no_strings_make_an_array(positives, sample, pat):
    model = PAT(random_state=0).fit(pd.DataFrame(positives))
    assert_same_answer(model.quantify(pd.DataFrame(sample)), pat.quantify(sample))


def test_predict_has_the_column_rules_of_quantify(named, make_frame, sample):
    expected = named.quantify(make_frame(sample))
    assert_same_answer(named.predict(make_frame(sample)), expected)
    a, b, c = sample.T
    other = make_frame({"c": c, "night": a, "a": a, "b": b})
    assert_same_answer(named.predict(other), expected)
    with pytest.raises(InputError, match="'b'"):
        named.predict(make_frame({"a": a, "c": c}))


# How many rows


@pytest.mark.parametrize("method", ["quantify", "predict", "posterior"])
def test_sample_without_rows(pat, method):
    assert "no rows" in str(problem(getattr(pat, method), np.empty((0, 3))))


def test_frame_without_rows(named, make_frame, sample):
    empty = make_frame(sample[:0])
    assert "no rows" in str(problem(named.quantify, empty))
    assert named.count(empty).n == 0


def test_positives_without_rows(make_frame):
    assert "no rows" in str(problem(PAT().fit, make_frame(np.empty((0, 3)))))


@pytest.mark.parametrize("kind", [PAT, ODIn])
@pytest.mark.parametrize("n_rows", [1, 9])
def test_fewer_positives_than_folds(kind, positives, n_rows):
    with pytest.raises(ValueError, match=f"At least 10 positives are needed.*got {n_rows}"):
        kind().fit(positives[:n_rows])


@pytest.mark.parametrize(("n_rows", "n_features"), [(11, 12), (12, 12), (13, 12)])
def test_not_more_positives_than_features_and_one(n_rows, n_features):
    rows = np.random.default_rng(0).normal(size=(n_rows, n_features))
    with pytest.raises(ValueError, match=f"needs at least {n_features + 2} positives") as caught:
        PAT().fit(rows)
    assert "nine tenths" not in str(caught.value)
    assert PAT(Mahalanobis("ledoit-wolf"), random_state=0).fit(rows).n_labeled_ == n_rows


def test_enough_for_all_but_not_for_nine_tenths():
    rows = np.random.default_rng(0).normal(size=(14, 12))
    Mahalanobis().fit(rows)
    with pytest.raises(
        ValueError, match=r"on all 14 positives, but not on nine tenths.*ledoit-wolf"
    ):
        PAT().fit(rows)


def test_sample_of_one_row(pat, positives):
    inside, outside = positives.mean(axis=0, keepdims=True), np.full((1, 3), 50.0)
    assert pat.quantify(inside) == 1
    assert pat.quantify(outside) == 0
    for row in (inside, outside):
        assert pat.quantify(row).interval.width > 0.5
        assert pat.posterior(row) == pat.quantify(row)


def test_sample_of_identical_rows(pat, positives):
    rows = np.repeat(positives.mean(axis=0, keepdims=True), 1000, axis=0)
    answer = pat.quantify(rows)
    assert answer == 1
    assert "overlap" in [caution.code for caution in answer.warnings]


@pytest.mark.parametrize("covariance", ["empirical", "ledoit-wolf"])
def test_identical_positives(covariance):
    with pytest.raises(ValueError, match="Every column is constant"):
        PAT(Mahalanobis(covariance)).fit(np.ones((50, 3)))


# Columns that say nothing


def repeated(rows):
    return np.column_stack([rows, rows[:, 0]])


def scaled(rows):
    return np.column_stack([rows, -7 * rows[:, 1] + 3])


def summed(rows):
    return np.column_stack([rows.sum(axis=1), rows])


def constant(rows):
    return np.column_stack([rows[:, 0], np.full(len(rows), 0.1), rows[:, 1:]])


@pytest.mark.parametrize("add", [repeated, scaled, summed, constant])
@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_redundant_columns_change_nothing(kind, add, positives, sample):
    plain = kind(random_state=0).fit(positives).quantify(sample)
    answer = kind(random_state=0).fit(add(positives)).quantify(add(sample))
    (caution,) = set(answer.warnings) - set(plain.warnings)
    quantiles = plain.distribution.quantiles
    if add is constant:
        # None of n positives has another value, so that 1 - .05^(1/n) of all of them may have one.
        missed = np.minimum(2 * (1 - LEVELS), 1)
        quantiles = np.minimum(quantiles / missed ** (1 / len(positives)), 1)
    expected = plain.replace(
        warnings=(*plain.warnings, caution), distribution=Distribution(quantiles)
    )
    assert_same_answer(answer, expected)
    assert caution.code == "singular-covariance"
    assert caution.value == 1
    assert ("constant: x1" in caution.sentence) == (add is constant)


def test_constant_column_is_named(make_frame, positives, sample):
    columns = dict(zip("abc", positives.T, strict=True))
    model = PAT(random_state=0).fit(make_frame({**columns, "trap": np.ones(len(positives))}))
    frame = make_frame({**dict(zip("abc", sample.T, strict=True)), "trap": np.arange(400)})
    answer = model.quantify(frame)
    # One row of 400 has the value that all positives have.
    assert answer < 0.01
    other_values, caution = answer.warnings
    assert "constant: trap" in caution.sentence
    assert caution.sentence.endswith(
        "In trap, rows with another value are not counted as positives."
    )
    assert other_values.code == "nothing-like-positives"
    assert "99.75 % of the sample differs from all positives" in other_values.sentence
    assert "in all of them, trap is 1." in other_values.sentence


# Forms of the same numbers


def memory_mapped(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def read_only(rows, _):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


FORMS = {
    "fortran": lambda rows, _: np.asfortranarray(rows),
    "strided": lambda rows, _: np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda rows, _: rows[::-1].copy()[::-1],
    "read only": read_only,
    "memory map": memory_mapped,
    "list": lambda rows, _: rows.tolist(),
    "object": lambda rows, _: rows.astype(object),
    "big endian": lambda rows, _: rows.astype(">f8"),
    "long double": lambda rows, _: rows.astype(np.longdouble),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_form_of_the_same_numbers_does_not_matter(kind, form, positives, sample, tmp_path):
    plain = kind(random_state=0).fit(positives)
    model = kind(random_state=0).fit(FORMS[form](positives, tmp_path))
    assert model.hash_ == plain.hash_
    assert model.count(FORMS[form](sample, tmp_path)) == plain.count(sample)


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_a_frame_has_labels_but_the_same_cells(kind, positives, sample):
    plain = kind(random_state=0).fit(positives)
    model = kind(random_state=0).fit(pd.DataFrame(positives))
    assert list(model.feature_names_in_) == [str(j) for j in range(positives.shape[1])]
    counts = model.count(pd.DataFrame(sample))
    assert np.array_equal(counts.cells, plain.count(sample).cells)


TYPES = [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.longdouble]


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_numbers(dtype, make_frame):
    rng = np.random.default_rng(0)
    top = 2 if dtype is bool else 100
    positives, sample = (rng.integers(0, top, size=(n, 3)).astype(dtype) for n in (100, 300))
    # Cells by position, since scores of whole numbers are tied.
    plain = PAT(random_state=0).fit(positives.astype(float))
    expected = plain.count(sample.astype(float))
    model = PAT(random_state=0).fit(positives)
    assert model.count(sample) == expected
    # Frames do not know two of them, and booleans of a frame are categories.
    if dtype not in (np.float16, np.longdouble, bool):
        named = PAT(random_state=0).fit(make_frame(positives))
        assert named.count(make_frame(sample)).cells.tolist() == expected.cells.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_nothing_is_written_into_the_caller_s_data(dtype, positives, sample):
    positives, sample = positives.astype(dtype), sample.astype(dtype)
    before = positives.copy(), sample.copy()
    PAT(random_state=0).fit(positives).quantify(sample)
    assert np.array_equal(before[0], positives)
    assert np.array_equal(before[1], sample)


def test_complex_numbers_are_refused(pat, sample):
    with pytest.raises(ValueError, match="Complex"):
        pat.quantify(sample.astype(complex))


def test_one_dimension_is_refused(pat, sample):
    with pytest.raises(ValueError, match="2D"):
        pat.quantify(sample[0])


finite = st.floats(-1e300, 1e300)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats()))
def test_any_matrix_is_counted_or_refused(pat, rows):
    if rows.shape[1] != 3:
        with pytest.raises(ValueError, match="features"):
            pat.quantify(rows)
    elif np.isinf(rows).any():
        error = problem(pat.quantify, rows)
        assert [error.row, int(error.column)] == np.argwhere(np.isinf(rows))[0].tolist()
    else:
        assert pat.count(rows).n == len(rows)
        answer = pat.quantify(rows)
        assert 0 <= answer.interval.low <= answer <= answer.interval.high <= 1


@settings(max_examples=50)
@given(
    rows=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.integers(1, 4)),
        elements=st.one_of(finite, st.integers(-2, 2).map(float)),
    )
)
def test_any_positives_are_learned_or_refused(rows):
    answer, reason = 0.0, "."
    try:
        answer = PAT(random_state=0).fit(rows).quantify(rows)
    except ValueError as error:
        reason = str(error)
    assert 0 <= answer <= 1
    assert reason.endswith(".")


# What a scorer takes


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        (Mahalanobis(), InputSupport()),
        (OneClassSVM(), InputSupport(sparse=True)),
        (IsolationForest(), InputSupport(nan=True, sparse=True)),
        (make_pipeline(SimpleImputer(), OneClassSVM()), InputSupport(nan=True, sparse=True)),
        (make_pipeline(StandardScaler(), OneClassSVM()), InputSupport()),
        (make_pipeline(StandardScaler(), RobustScaler(), OneClassSVM()), InputSupport()),
        (make_pipeline(StandardScaler(with_mean=False), OneClassSVM()), InputSupport(sparse=True)),
        (make_pipeline(StandardScaler(), SimpleImputer(), OneClassSVM()), InputSupport(nan=True)),
        (make_pipeline(StandardScaler(), IsolationForest()), InputSupport(nan=True)),
        (make_pipeline(make_pipeline(StandardScaler()), OneClassSVM()), InputSupport()),
        (
            make_pipeline(make_pipeline(StandardScaler(), SimpleImputer()), OneClassSVM()),
            InputSupport(nan=True),
        ),
        (make_pipeline(OneHotEncoder(), OneClassSVM()), InputSupport(nan=True, text=True)),
        (make_pipeline(CountVectorizer(), OneClassSVM()), InputSupport(text=True)),
        (
            make_pipeline("passthrough", SimpleImputer(), Mahalanobis()),
            InputSupport(True, False, True),
        ),
        (
            make_pipeline(make_column_transformer((OneHotEncoder(), ["a"])), OneClassSVM()),
            InputSupport(nan=True, text=True),
        ),
    ],
)
def test_what_a_scorer_takes(scorer, expected):
    assert input_support(scorer) == expected


def test_an_imputer_does_not_take_infinity(make_frame, positives, sample):
    scorer = make_pipeline(SimpleImputer(), OneClassSVM())
    bad = sample.copy()
    bad[4, 0] = np.nan
    bad[5, 2] = np.inf
    bad[[6, 399], [0, 1]] = -np.inf
    error = problem(
        PAT(scorer, random_state=0).fit(make_frame(positives)).quantify, make_frame(bad)
    )
    assert (error.column, error.row) == ("c", 5)
    error = problem(PAT(scorer, random_state=0).fit(positives).quantify, bad)
    assert (error.column, error.row) == ("2", 5)


def test_error_survives_a_process_boundary():
    error = InputError("it is odd.", file="a.csv", column="b", row=3)
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.row, copied.column, copied.file) == (
        str(error),
        3,
        "b",
        "a.csv",
    )


# From frames to blocks


KINDS = {
    "single": pa.float32(),
    "double": pa.float64(),
    "small": pa.int8(),
    "large": pa.int64(),
    "unsigned": pa.uint64(),
    "yes or no": pa.bool_(),
    "decimal": pa.decimal128(5, 2),
}


@pytest.mark.parametrize("kind", [*KINDS, "all"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("chunks", [1, 3])
def test_numbers_of_every_type_become_the_same_block(kind, gaps, chunks):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 2, size=(90, 3)).astype(float)
    kinds = list(KINDS.values())[:3] if kind == "all" else [KINDS[kind]] * 3
    there = np.where(rng.random(whole.shape) < 0.2, np.nan, whole) if gaps else whole
    columns = {
        name: pa.chunked_array(
            [
                pa.array([None if np.isnan(v) else v for v in part]).cast(arrow, safe=False)
                for part in np.array_split(values, chunks)
            ]
        )
        for name, values, arrow in zip("abc", there.T, kinds, strict=True)
    }
    table = pa.table(columns)
    frames = [table, table.to_pandas(), pl.from_arrow(table)]
    # The other two have objects for gaps among these.
    for frame in frames[:1] if kind in ("yes or no", "decimal") else frames:
        rows = Rows(nw.from_native(frame), ("a", "b", "c"), InputSupport(nan=True, coded=True))
        for start, stop in ((0, 90), (25, 70)):
            block = rows.block(start, stop)
            assert block.dtype == (np.float32 if kind == "single" else np.float64)
            np.testing.assert_array_equal(block, there[start:stop])
