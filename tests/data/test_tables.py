"""Tables as people have them: words, booleans, gaps and dates, in every form and engine."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import poscount
from answers import assert_same_answer
from hospital import FEATURES, register
from poscount import BBE, DEDPUL, PAT, RCQ, TRCQ, ExTIcE, InputError, ODIn, TIcE, registry
from poscount.data.categories import Categorical, categorical_of_values
from poscount.data.columns import Columns
from poscount.data.imputation import learn_imputation
from poscount.engines import count
from research.calibrations.corrupt import corrupt

N_LABELED, N_ROWS = 300, 800
PREVALENCE = 0.4


@pytest.fixture(scope="module")
def positives():
    return register(np.random.default_rng(0), N_LABELED, 0)


@pytest.fixture(scope="module")
def sample():
    n = round(PREVALENCE * N_ROWS)
    return register(np.random.default_rng(1), n, N_ROWS - n)


@pytest.fixture(scope="module")
def rcq(positives):
    return RCQ(random_state=0).fit(positives, features=FEATURES)


# Forms and engines


def as_objects(table):
    return np.array([table[name].to_pylist() for name in FEATURES], dtype=object).T


FORMS = {
    "pandas": lambda table: table.to_pandas(),
    "pandas arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda table: table.to_pandas().astype({"ward": "category"}),
    "polars": pl.from_arrow,
    "polars categories": lambda table: pl.from_arrow(table).with_columns(
        pl.col("ward").cast(pl.Categorical)
    ),
    "chunks": lambda table: pa.concat_tables([table[:300], table[300:]]),
    "dictionary": lambda table: table.set_column(
        0, "ward", table["ward"].dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    ),
    "another order": lambda table: table.select(["weight", "smokes", "visit", "ward", "age"]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [RCQ, PAT, ODIn])
def test_the_form_of_a_table_does_not_matter(method, form, positives, sample):
    model = method(random_state=0).fit(positives, features=FEATURES)
    again = method(random_state=0).fit(FORMS[form](positives), features=FEATURES)
    assert again.hash_ == model.hash_
    assert model.count(FORMS[form](sample)) == model.count(sample)


def test_arrays_of_objects(positives, sample):
    by_name = RCQ(random_state=0).fit(positives, features=FEATURES)
    by_place = RCQ(random_state=0).fit(as_objects(positives))
    found = by_place.count(as_objects(sample)).cells
    assert found.tolist() == by_name.count(sample).cells.tolist()


@pytest.mark.parametrize("method", [RCQ, PAT])
def test_the_order_of_rows_does_not_matter(method, positives, sample):
    model = method(random_state=0).fit(positives, features=FEATURES)
    order = np.random.default_rng(2).permutation(N_ROWS)
    assert model.count(sample.take(order)) == model.count(sample)
    parts = [model.count(sample[i : i + 37]) for i in range(0, N_ROWS, 37)]
    assert sum(parts) == model.count(sample)


@pytest.fixture(scope="module")
def files(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    pa.parquet.write_table(sample, folder / "rows.parquet")
    pa.csv.write_csv(sample, folder / "rows.csv")
    with gzip.open(folder / "words.csv.gz", "wt") as file:
        # As a statistics program writes it.
        sample.to_pandas().to_csv(file, na_rep="NA", index=False)
    return folder


@pytest.mark.parametrize("method", [RCQ, PAT])
@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "words.csv.gz"])
def test_files_count_as_memory_does(method, name, files, positives, sample):
    model = method(random_state=0).fit(positives, features=FEATURES)
    assert count(model, files / name) == model.count(sample)
    grouped = count(model, files / name, by="day(visit)")
    by_day = model.count_by(sample, "day(visit)")
    assert len(by_day) > 1
    assert dict(zip(grouped.keys, grouped.n.tolist(), strict=True)) == dict(
        zip(by_day.keys, by_day.n.tolist(), strict=True)
    )


@pytest.mark.parametrize("method", [RCQ, PAT])
def test_duckdb_counts_as_memory_does(method, files, positives, sample):
    duckdb = pytest.importorskip("duckdb")
    model = method(random_state=0).fit(positives, features=FEATURES)
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM '{files / 'rows.parquet'}'")
        assert count(model, relation) == model.count(sample)
        enum = connection.sql(
            "SELECT * REPLACE (ward::ENUM ('north', 'south', 'west') AS ward) "
            f"FROM '{files / 'rows.parquet'}'"
        )
        assert count(model, enum) == model.count(sample)


def test_dask_counts_as_memory_does(files, rcq, sample):
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(sample.to_pandas(), npartitions=3)
    assert count(rcq, frame) == rcq.count(sample)


# What is learned


def test_what_became_of_each_column(rcq, positives):
    kinds = {column.name: column.kind for column in rcq.columns_}
    assert kinds == {"ward": "category", "age": "number", "smokes": "category", "weight": "number"}
    assert rcq.columns_["ward"].categories == ("north", "south")
    assert rcq.columns_["smokes"].categories == ("false", "true")
    assert rcq.columns_["age"].missing == positives["age"].null_count / N_LABELED
    assert str(rcq.columns_["weight"]) == "weight: used as a number"
    assert rcq.numeric_features_ == ["age", "weight"]


def test_dates_are_left_out_and_it_is_said(positives, sample):
    with pytest.warns(UserWarning, match="Dates are not used as features: 'visit'"):
        model = RCQ(random_state=0).fit(positives)
    assert model.feature_names_in_.tolist() == FEATURES
    assert [column.name for column in model.columns_ if column.kind == "left out"] == ["visit"]
    asked = RCQ(random_state=0).fit(positives, features=[*FEATURES, "visit"])
    assert asked.columns_["visit"].kind == "number"
    assert 0 <= asked.quantify(sample) <= 1


@pytest.mark.parametrize(
    ("name", "values", "identifies"),
    [
        ("patient", range(100, 400), True),
        ("patient", range(100, 700, 2), False),
        ("patient", np.arange(300.0), True),
        ("patient", np.arange(300.0) + 0.5, False),
        ("patient", [1, None, *range(3, 301)], False),
        ("patient", [f"p{i}" for i in range(300)], True),
        ("patient", [f"p{i % 100}" for i in range(300)], False),
        ("patient_id", np.random.default_rng(0).normal(size=300), True),
        ("__index_level_0__", np.random.default_rng(0).integers(9, size=300), True),
        ("sample number", np.random.default_rng(0).integers(9, size=300), True),
        ("body_mass_index", np.random.default_rng(0).normal(size=300), False),
        ("remarks", ["good", "bad", "blurred"] * 100, True),
        ("", np.random.default_rng(0).normal(size=300), True),
    ],
)
def test_identifiers_are_not_used_unless_they_are_asked_for(positives, name, values, identifies):
    table = positives.select(FEATURES).append_column(name, pa.array(values))
    # Elsewhere a warning is an error, so that none may come if they are asked for by name.
    asked = PAT(random_state=0).fit(table, features=[*FEATURES, name])
    if not identifies:
        unasked = PAT(random_state=0).fit(table)
        assert unasked.hash_ == asked.hash_
    else:
        sentence = f"running numbers or comments are not used as features: '{name}'. Name them in"
        with pytest.warns(UserWarning, match=sentence):
            unasked = PAT(random_state=0).fit(table)
        assert unasked.feature_names_in_.tolist() == FEATURES
        assert asked.feature_names_in_.tolist() == [*FEATURES, name]


def test_a_running_number_alone_is_no_table_of_features(positives):
    table = positives.select([]).append_column("n", pa.array(range(len(positives))))
    with (
        pytest.warns(UserWarning, match="running numbers"),
        pytest.raises(ValueError, match=r"None of these looks like one: n\. Choose it with featu"),
    ):
        PAT(random_state=0).fit(table)


def test_words_few_positives_have_are_one():
    words = ["often"] * 20 + ["sometimes"] * 6 + ["once", "twice", "twice"] + [None]
    columns = Columns.learn(["a"], iter([categorical_of_values(words)]), [])
    assert columns.categories_ == [["often", "sometimes"]]
    assert columns.rare_ == [["once", "twice"]]
    assert columns.bins(0) == ["often", "sometimes", "a rare one", "missing"]
    seen = categorical_of_values(["sometimes", "twice", None, "never", "often"])
    codes = columns.code_categories(0, seen)
    assert np.array_equal(codes, [1, 2, np.nan, 3, 0], equal_nan=True)
    assert columns.bins_of_codes(np.array([0])).tolist() == [[0, 1, 2, 255, 3]]


def test_writings_of_one_word():
    found = categorical_of_values(["True", True, "TRUE", " true ", np.bool_(True), "a ", "a", "A"])
    assert found.distinct == ["true", "a", "A"]
    assert found.places.tolist() == [0, 0, 0, 0, 0, 1, 1, 2]


# Known answers


@pytest.mark.parametrize("method", [RCQ, TRCQ, DEDPUL, BBE])
def test_a_word_tells_positives_from_negatives(method):
    """Numbers say nothing: everything is in one word that no negative has."""
    rng = np.random.default_rng(3)

    def rows(n_positives, n_negatives):
        n = n_positives + n_negatives
        word = np.where(np.arange(n) < n_positives, "yes", "no")
        # A third of the positives has the negatives' word.
        word[: n_positives // 3] = "no"
        return pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "word": word})

    # By experience, TRCQ expects that such an overlap is no accident: .17 [0, .36].
    null = {"calibration": "null"} if method is TRCQ else {}
    model = method(random_state=0, **null).fit(rows(600, 0))
    answer = model.quantify(rows(300, 700))
    assert abs(answer - 0.3) < 0.1
    blind = method(random_state=0, **null).fit(rows(600, 0), features=["x", "y"])
    assert blind.quantify(rows(300, 700)) > 0.5


@pytest.mark.parametrize("method", [RCQ, TRCQ, TIcE, ExTIcE])
def test_a_gap_tells_positives_from_negatives(method):
    """Nine of ten positives were asked for something that no negative was asked for."""
    rng = np.random.default_rng(4)

    def rows(n_positives, n_negatives):
        n = n_positives + n_negatives
        asked = (np.arange(n) < n_positives) & (rng.random(n) < 0.7)
        table = {f"x{j}": rng.normal(size=n) for j in range(3)}
        return pa.table({**table, "asked": pa.array(rng.normal(size=n), mask=~asked)})

    answer = method(random_state=0).fit(rows(600, 0)).quantify(rows(300, 700))
    # TIcE's answers are biased upwards by 8 to 20 points.
    assert -0.1 < answer - 0.3 < (0.25 if method in (TIcE, ExTIcE) else 0.1)


@pytest.mark.parametrize("method", [RCQ, TRCQ, PAT, ODIn])
def test_a_few_words_whose_scores_are_tied(method):
    """Six kinds of rows: equal rows of positives and of a sample must be on one side of an edge."""
    rng = np.random.default_rng(11)

    def rows(n, shares):
        return pd.DataFrame(
            {"ward": rng.choice(["a", "b", "c"], n, p=shares), "sex": rng.choice(["f", "m"], n)}
        )

    ours, theirs = (0.5, 0.4, 0.1), (0.0, 0.2, 0.8)
    null = {"calibration": "null"} if method in (RCQ, TRCQ) else {}
    model = method(**null, random_state=0).fit(rows(300, ours))
    for n_positives in (0, 300, 1000):
        sample = pd.concat([rows(n_positives, ours), rows(1000 - n_positives, theirs)])
        assert abs(model.quantify(sample) - n_positives / 1000) < 0.12


def test_gaps_at_random_change_little(tmp_path):
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(6, 6))

    def rows(n, shift):
        numbers = (rng.normal(size=(n, 6)) + shift) @ mixing
        gapped = numbers.copy()
        gapped[rng.random(numbers.shape) < 0.1] = np.nan
        return numbers, gapped

    labeled = rows(500, 0)
    sample = [np.vstack(pair) for pair in zip(rows(300, 0), rows(700, 1.5), strict=True)]
    complete, gapped = (
        RCQ(random_state=0).fit(x).quantify(y) for x, y in zip(labeled, sample, strict=True)
    )
    assert abs(complete - 0.3) < 0.05
    assert abs(gapped - 0.3) < 0.07
    assert not {"missing-differs"} & {caution.code for caution in gapped.warnings}


def test_filling_is_the_conditional_mean():
    """Against the formula for normal variables, with the covariance that was used."""
    rng = np.random.default_rng(6)
    d = 5
    rows = rng.normal(size=(4000, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    filling = learn_imputation(rows.T)
    n = len(rows)
    standardised = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    correlation = n / (n + d) * (standardised.T @ standardised / n)
    np.fill_diagonal(correlation, 1.0)
    row = standardised[7].clip(-6, 6)
    gone, known = [1, 3], [0, 2, 4]
    expected = correlation[np.ix_(gone, known)] @ np.linalg.solve(
        correlation[np.ix_(known, known)], row[known]
    )
    gapped = rows[7].copy()
    gapped[gone] = np.nan
    found = (filling.fill(gapped[:, np.newaxis])[:, 0] - rows.mean(axis=0)) / rows.std(axis=0)
    assert found[gone] == pytest.approx(expected, rel=1e-6)
    assert filling.fill(gapped[:, np.newaxis])[known, 0].tolist() == rows[7][known].tolist()


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_filling_a_row_does_not_depend_on_the_others(seed, n):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    filling = learn_imputation(rows.T)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    together = filling.fill(rows.T)
    assert np.array_equal(together[:, :n], filling.fill(rows[:n].T))
    assert not np.isnan(together).any()


# Warnings


def codes(answer):
    return {caution.code: caution for caution in answer.warnings}


METHODS = [RCQ, PAT, TRCQ, DEDPUL, TIcE]


@pytest.mark.parametrize("method", METHODS)
def test_gaps_that_the_positives_do_not_have(method, positives, sample):
    model = method(random_state=0).fit(positives, features=["weight", "smokes"])
    gaps = np.arange(N_ROWS) % 5 == 0
    gone = sample.set_column(3, "weight", pa.array(sample["weight"].to_numpy(), mask=gaps))
    found = codes(model.quantify(gone))["missing-differs"]
    assert found.severity == "note"
    assert "Column weight is missing in 20.0 % of the sample, and in 0.0 %" in found.sentence
    assert "missing-differs" not in codes(model.quantify(sample))


@pytest.mark.parametrize("method", METHODS)
def test_words_that_the_positives_do_not_have(method, positives, sample):
    model = method(random_state=0).fit(positives, features=FEATURES)
    written = pa.array(
        [None if word is None else word.upper() for word in sample["ward"].to_pylist()]
    )
    found = codes(model.quantify(sample.set_column(0, "ward", written)))["unseen-words"]
    # One row in ten has no word, and so is not written otherwise. RCQ and TRCQ count words.
    assert found.severity == ("check" if method in (RCQ, TRCQ) else "note")
    nothing_known = pa.array(["WARD"] * N_ROWS)
    worse = codes(model.quantify(sample.set_column(0, "ward", nothing_known)))["unseen-words"]
    assert worse.severity == "check"
    assert found.sentence.startswith("In column ward, ")
    assert "no positive" in found.sentence


def test_a_word_that_was_renamed(rcq, positives, sample):
    words = ["North ward" if x == "north" else x for x in sample["ward"].to_pylist()]
    found = codes(rcq.quantify(sample.set_column(0, "ward", pa.array(words))))["unseen-words"]
    assert found.severity == "check"
    share = positives["ward"].to_pylist().count("north") / N_LABELED
    assert f"hardly a row has the word of {100 * share:.0f} % of the positives" in found.sentence
    # A word that is there, if only in rows unlike the positives, has not vanished.
    far = sample.set_column(1, sample.column_names[1], pa.array(np.full(N_ROWS, 1e6)))
    answer = rcq.quantify(far)
    assert "hardly a row" not in " ".join(warning.sentence for warning in answer.warnings)
    # The negatives' own word is no reason for doubt: both words of the positives are still there.
    assert codes(rcq.quantify(sample))["unseen-words"].severity == "note"


def test_small_gaps_in_many_columns_are_seen_together():
    rng = np.random.default_rng(7)
    positives, sample = rng.normal(size=(400, 30)), rng.normal(size=(1000, 30))
    sample[rng.random(sample.shape) < 0.01] = np.nan
    found = codes(RCQ(random_state=0).fit(positives).quantify(sample))["missing-differs"]
    assert found.sentence.startswith("Some value is missing in 2")


def test_warnings_name_five_columns_at_most():
    rng = np.random.default_rng(8)
    positives, sample = rng.normal(size=(400, 30)), rng.normal(size=(1000, 30))
    sample[rng.random(sample.shape) < 0.1] = np.nan
    found = codes(RCQ(random_state=0).fit(positives).quantify(sample))["missing-differs"]
    assert "and 25 more." in found.sentence


# Files, bad input


@pytest.mark.parametrize("name", registry.METHODS)
def test_every_method_takes_tables(name, positives, sample, tmp_path):
    method = registry.method(name)
    model = method(random_state=0).fit(positives, features=FEATURES)
    answer = model.quantify(sample)
    assert 0 <= answer <= 1
    assert_same_answer(model.quantify(pl.from_arrow(sample)), answer)
    model.save(tmp_path / "register.poscount")
    assert_same_answer(poscount.load(tmp_path / "register.poscount").quantify(sample), answer)


@pytest.mark.parametrize("method", [RCQ, PAT, TRCQ, ExTIcE, DEDPUL])
def test_model_files_tell_all_of_it(method, positives, sample, tmp_path):
    model = method(random_state=0).fit(positives, features=FEATURES)
    model.save(tmp_path / "register.poscount")
    loaded = poscount.load(tmp_path / "register.poscount")
    assert list(loaded.columns_) == list(model.columns_)
    assert_same_answer(loaded.quantify(sample), model.quantify(sample))


def test_kinds_that_do_not_match(rcq, sample):
    with pytest.raises(InputError, match="'age': it holds words here, but held numbers in the pos"):
        rcq.quantify(sample.set_column(1, "age", pa.array(["old"] * N_ROWS)))
    with pytest.raises(InputError, match="'ward': it holds numbers here, but held words in the po"):
        rcq.quantify(sample.set_column(0, "ward", pa.array(np.arange(N_ROWS))))
    nothing = rcq.quantify(sample.set_column(0, "ward", pa.nulls(N_ROWS)))
    assert "missing-differs" in codes(nothing)
    with pytest.raises(InputError, match="'age', row 0: infinity"):
        rcq.quantify(sample.set_column(1, "age", pa.array([np.inf] * N_ROWS)))
    ages = pa.array([50.0] * 7 + [-np.inf] * (N_ROWS - 7))
    with pytest.raises(InputError, match="'age', row 7: infinity"):
        RCQ().fit(sample.set_column(1, "age", ages), features=FEATURES)
    with pytest.raises(InputError, match="column '1', row 7: infinity"):
        RCQ().fit(as_objects(sample.set_column(1, "age", ages)))
    with pytest.raises(InputError, match="neither numbers nor categories"):
        RCQ().fit(pa.table({"a": [[1, 2], [3]] * 20}))


def test_columns_that_say_nothing():
    table = pd.DataFrame({"word": ["a"] * 40, "gone": [None] * 40, "x": np.arange(40) / 2})
    model = RCQ(random_state=0).fit(table)
    assert model.quantify(table).n_unlabeled == 40
    with pytest.raises(ValueError, match="constant"):
        RCQ(random_state=0).fit(table[["word", "gone"]])


# Property tests


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d = draw(st.integers(20, 60)), draw(st.integers(1, 5))
    numbers = rng.normal(size=(n, d)).round(draw(st.integers(0, 3)))
    ours, _, words = corrupt(numbers, rng)
    return ours(numbers, rng), words


@given(tables())
@settings(max_examples=40, deadline=None)
def test_any_table_is_counted_the_same_in_parts(made):
    coded, words = made
    frame = pd.DataFrame(
        {
            f"c{j}": [None if x != x else f"w{x:g}" for x in column] if j in words else column
            for j, column in enumerate(coded.T)
        }
    )
    try:
        model = RCQ(random_state=0).fit(frame)
    except ValueError:  # nothing varies
        assume(False)
    whole = model.count(frame)
    assert model.count(frame[:7]) + model.count(frame[7:]) == whole
    assert model.count(frame[::-1]) == whole
    answer = model.estimate(whole)
    assert answer.interval.low <= answer <= answer.interval.high


@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.booleans()), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_words_of_any_text(values):
    found = categorical_of_values(values)
    assert isinstance(found, Categorical)
    for value, place in zip(values, found.places.tolist(), strict=True):
        assert (place == -1) == (value is None)
        if value is not None:
            assert found.distinct[place] in (str(value).strip(), str(value).strip().lower())
