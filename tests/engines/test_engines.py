"""Counting files, tables and batches: everywhere the counts that memory gives, to the last one."""

import gzip
import itertools
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answers import assert_same_answer
from poscount import PAT, RCQ, ExTIcE, InputError, SubclassRCQ
from poscount.base.batch_counter import BatchCounter
from poscount.counts.counts import GroupedCounts
from poscount.engines import count
from poscount.results.verdict import NO_DOUBT


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=700)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
    elif path.suffix == ".gz":
        buffer = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, buffer)
        path.write_bytes(gzip.compress(buffer.getvalue().to_pybytes()))
    else:
        pyarrow.csv.write_csv(table, path)


def as_text(grouped):
    """Groups as a file without types has them."""
    keys = [tuple(map(str, key)) for key in grouped.keys]
    same = GroupedCounts(grouped.by, keys, grouped.cells, grouped.n, grouped.model)
    return same.in_order()


@pytest.fixture(params=["parquet", "csv", "csv.gz", "feather"])
def folder(request, trap, tmp_path):
    """Three files of one kind."""
    for i, (start, stop) in enumerate([(0, 1000), (1000, 1001), (1001, 3000)]):
        write(trap.slice(start, stop - start), tmp_path / f"part {i}.{request.param}")
    return tmp_path


@pytest.fixture
def hive(trap, tmp_path):
    """Files that have their night in the path only."""
    for i, night in enumerate(["mon", "tue", "wed", "mon"]):
        part = trap.filter(pa.compute.equal(trap["night"], night))
        half = len(part) // 2
        rows = {0: part.slice(0, half), 3: part.slice(half)}.get(i, part)
        place = tmp_path / "hive" / f"night={night}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.drop_columns("night"), place / f"{i}.parquet")
    return tmp_path / "hive"


# Files


def test_every_model_counts_files(counting, weighted_trap, tmp_path):
    """What kind of file it is, how many threads and which groups is nothing that a model sees."""
    for i, (start, stop) in enumerate([(0, 1000), (1000, 1001), (1001, 3000)]):
        write(weighted_trap.slice(start, stop - start), tmp_path / f"part {i}.parquet")
    assert count(counting, tmp_path, n_jobs=2) == counting.count(weighted_trap)
    how = {"by": ["site", "night"], "weights": "weight"}
    assert count(counting, tmp_path, n_jobs=2, **how) == counting.count_by(weighted_trap, **how)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_globs_and_directories(named_pat, trap, folder, n_jobs):
    files = sorted(folder.iterdir())
    for source in (folder, f"{folder}/part*", list(map(str, files)), files):
        assert count(named_pat, source, n_jobs=n_jobs) == named_pat.count(trap)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("by", ["night", ["site"], ["site", "night"]])
def test_groups_of_files(named_pat, trap, folder, by, n_jobs):
    expected = named_pat.count_by(trap, by)
    if "csv" in str(next(folder.iterdir())):
        expected = as_text(expected)
    assert count(named_pat, folder, by=by, n_jobs=n_jobs) == expected


@pytest.mark.parametrize("weights", ["times", "weight"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "feather"])
def test_weights_of_files(named_pat, weighted_trap, tmp_path, weights, kind):
    for i, (start, stop) in enumerate([(0, 1000), (1000, 1001), (1001, 3000)]):
        write(weighted_trap.slice(start, stop - start), tmp_path / f"part {i}.{kind}")
    expected = named_pat.count(weighted_trap, weights=weights)
    by_night = named_pat.count_by(weighted_trap, "night", weights=weights)
    assert count(named_pat, tmp_path, weights=weights) == expected
    assert count(named_pat, tmp_path, by="night", weights=weights) == by_night


@pytest.mark.parametrize("weights", ["times", "weight"])
def test_weights_of_tables_and_batches(counting, weighted_trap, weights):
    expected = counting.count(weighted_trap, weights=weights)
    by_night = counting.count_by(weighted_trap, "night", weights=weights)
    batches = weighted_trap.to_batches(max_chunksize=700)
    for source in (batches, weighted_trap.to_pandas(), pl.from_arrow(weighted_trap)):
        assert count(counting, source, weights=weights) == expected
        assert count(counting, source, by="night", weights=weights) == by_night


def test_bad_weights_in_files_are_named(named_pat, weighted_trap, tmp_path):
    rows = weighted_trap.slice(0, 100).to_pandas()
    rows.to_csv(tmp_path / "a.csv", index=False)
    for value, message in ((None, "the weight is missing"), (-2, "the weight is -2;")):
        rows.assign(weight=rows["weight"].where(rows.index != 41, value)).to_csv(
            tmp_path / "b.csv", index=False
        )
        with pytest.raises(InputError, match=f"b.csv: column 'weight', row 42: {message}"):
            count(named_pat, tmp_path, weights="weight")
    with pytest.raises(InputError, match=r"a.csv: column 'w': the file has no such column"):
        count(named_pat, tmp_path / "a.csv", weights="w")
    with pytest.raises(InputError, match="have no column 'weight' of weights"):
        count(
            PAT(random_state=0).fit(rows[["a", "b", "c"]].to_numpy()),
            [rows[["a", "b", "c"]].to_numpy()],
            weights="weight",
        )
    with pytest.raises(TypeError, match="weights is the name of a column here"):
        count(named_pat, rows, weights=rows["weight"])


@pytest.mark.parametrize("by", ["night", ["site", "night"]])
def test_groups_that_stand_in_the_path(named_pat, trap, hive, by):
    assert count(named_pat, hive, by=by) == named_pat.count_by(trap, by)


def test_values_in_paths_are_text_and_may_be_missing(named_pat, trap, tmp_path):
    for place in ("night=01", "night=a%20b%2Fc", "night=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / place).mkdir()
        pq.write_table(trap.drop_columns("night"), tmp_path / place / "x.parquet")
    keys = count(named_pat, f"{tmp_path}/night=[0a]*", by="night").keys
    assert keys == [("01",), ("a b/c",)]
    keys = count(named_pat, tmp_path, by="night").keys
    assert keys == [("01",), ("a b/c",), (None,)]


def test_a_column_of_the_file_comes_before_the_path(named_pat, trap, tmp_path):
    place = tmp_path / "night=old" / "a=7"
    place.mkdir(parents=True)
    pq.write_table(trap, place / "x.parquet")
    assert count(named_pat, tmp_path, by="night") == named_pat.count_by(trap, "night")


def test_only_the_columns_of_the_model_are_read(named_pat, trap, folder, monkeypatch):
    seen = []
    counted = BatchCounter.count

    def spy(self, batch):
        seen.append(tuple(batch.schema.names))
        return counted(self, batch)

    monkeypatch.setattr(BatchCounter, "count", spy)
    count(named_pat, folder)
    assert set(seen) == {("a", "b", "c")}


def test_progress_rises_to_the_bytes_of_all_files(named_pat, folder):
    seen = []
    count(named_pat, folder, progress=lambda done, total: seen.append((done, total)))
    done = [pair[0] for pair in seen]
    total = sum(file.stat().st_size for file in folder.iterdir())
    assert done == sorted(done)
    assert {pair[1] for pair in seen} == {total}
    assert done[-1] == total


def test_ctrl_c_stops_all_threads(named_pat, folder, monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(BatchCounter, "count", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        count(named_pat, folder, n_jobs=2)
    assert threading.active_count() == before


# Bad files


@pytest.fixture
def mixed(trap, tmp_path):
    """Good files, and among them one of each kind of bad ones."""
    good = tmp_path / "good"
    good.mkdir()
    for i in range(3):
        pq.write_table(trap.slice(i * 1000, 1000), good / f"{i}.parquet")
    bad = tmp_path / "bad"
    bad.mkdir()
    whole = (good / "0.parquet").read_bytes()
    (bad / "0 cut off.parquet").write_bytes(whole[: len(whole) // 2])
    (bad / "1 empty.parquet").write_bytes(b"")
    pq.write_table(trap.drop_columns("b"), bad / "2 without.parquet")
    text = trap.set_column(1, "b", trap["b"].cast(pa.string()))
    pq.write_table(text, bad / "3 text.parquet")
    spoilt = trap["c"].to_numpy().copy()
    spoilt[2000] = np.nan
    spoilt[2999] = np.inf
    pq.write_table(trap.set_column(2, "c", [spoilt]), bad / "4 nan.parquet")
    (bad / "5 damaged.parquet").write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    return tmp_path


BAD = {
    "0 cut off": "this is not Parquet, although its extension says so, or it is damaged",
    "1 empty": "the file is empty.",
    "2 without": "column 'b': the file has no such column; its columns are 'a', 'c', 'night'",
    "3 text": "column 'b': it holds words here, but held numbers in the positives",
    "4 nan": "column 'c', row 3000: infinity",
    "5 damaged": "this is not Parquet, although its extension says so, or it is damaged",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_in_one_sentence(named_pat, mixed, name):
    with pytest.raises(InputError) as caught:
        count(named_pat, [mixed / "good", mixed / "bad" / f"{name}.parquet"])
    assert str(caught.value).startswith(f"{mixed}/bad/{name}.parquet: {BAD[name]}")
    assert "\n" not in str(caught.value)


def test_checksums_are_looked_at_where_a_file_has_them(named_pat, trap, tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(trap, path, write_page_checksum=True, use_dictionary=False)
    content = bytearray(path.read_bytes())
    place = content.find(trap["a"].to_numpy()[100:110].tobytes())
    assert place > 0
    assert count(named_pat, path) == named_pat.count(trap)
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"x\.parquet: this is not Parquet.*damaged"):
        count(named_pat, path)


def test_the_first_bad_row_is_the_one_that_is_named(named_pat, trap, tmp_path, monkeypatch):
    spoilt = trap["c"].to_numpy().copy()
    spoilt[[700, 701, 1500, 2900]] = np.inf
    table = trap.set_column(2, "c", [spoilt])
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    monkeypatch.setattr("poscount.engines.count_files.BLOCK_ROWS", 50)
    for _ in range(5):
        with pytest.raises(InputError) as caught:
            count(named_pat, tmp_path, n_jobs=4)
        assert (caught.value.row, caught.value.column) == (700, "c")


def test_a_missing_partition_column_names_the_file(named_pat, trap, hive):
    pq.write_table(trap.drop_columns("night"), hive / "loose.parquet")
    with pytest.raises(InputError, match="no such column") as caught:
        count(named_pat, hive, by="night")
    assert (caught.value.file, caught.value.column) == (f"{hive}/loose.parquet", "night")


def test_groups_of_two_types_name_the_file(named_pat, trap, tmp_path):
    pq.write_table(trap, tmp_path / "a.parquet")
    text = trap.set_column(4, "site", trap["site"].cast(pa.string()))
    pq.write_table(text, tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"text here but numbers in .*a\.parquet") as caught:
        count(named_pat, tmp_path, by="site")
    assert caught.value.file == f"{tmp_path}/b.parquet"


def test_integers_and_floats_in_different_files(named_pat, trap, tmp_path):
    whole = trap.set_column(0, "a", trap["a"].cast(pa.int64(), safe=False))
    pq.write_table(whole, tmp_path / "0.parquet")
    pq.write_table(trap, tmp_path / "1.parquet")
    assert count(named_pat, tmp_path) == named_pat.count(whole) + named_pat.count(trap)


# Memory and iterators


KINDS = {
    "tables": lambda table: table,
    "record batches": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
}


@pytest.mark.parametrize("kind", KINDS)
def test_iterators_of_frames(named_pat, trap, kind):
    cuts = [0, 1, 1200, 1200, 3000]

    def batches():
        for start, stop in itertools.pairwise(cuts):
            if stop > start or kind != "record batches":
                yield KINDS[kind](trap.slice(start, stop - start))

    assert count(named_pat, batches()) == named_pat.count(trap)
    assert count(named_pat, batches(), by="site") == named_pat.count_by(trap, "site")
    assert count(named_pat, KINDS[kind](trap)) == named_pat.count(trap)
    assert count(named_pat, KINDS[kind](trap), by="site") == named_pat.count_by(trap, "site")


def test_iterators_of_arrays(pat, sample):
    assert count(pat, sample) == pat.count(sample)
    assert count(pat, iter(np.array_split(sample, 7))) == pat.count(sample)
    assert count(pat, (part for part in np.array_split(sample, 7)), n_jobs=1) == pat.count(sample)


def test_a_bad_row_of_an_iterator_has_its_number_in_the_whole(pat, sample):
    spoilt = sample.copy()
    spoilt[[333, 350], 1] = np.inf
    for n_jobs in (1, 3):
        with pytest.raises(InputError, match="column '1', row 333: infinity"):
            count(pat, iter(np.array_split(spoilt, 20)), n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_iterator_that_fails_says_why(pat, sample, n_jobs):
    def batches():
        yield sample
        raise ConnectionError("the broker has left")

    with pytest.raises(ConnectionError, match="the broker has left"):
        count(pat, batches(), n_jobs=n_jobs)


def test_sources_and_options_that_make_no_sense(named_pat, pat, trap, positives):
    with pytest.raises(TypeError, match="A float cannot be counted"):
        count(named_pat, 3.5)
    with pytest.raises(InputError, match="not a single batch"):
        count(named_pat, iter([]))
    with pytest.raises(InputError, match="engine must be one of auto, dask, spark, got"):
        count(named_pat, __file__, engine="flink")
    for options in ({"engine": "dask"}, {"delimiter": ";"}):
        with pytest.raises(InputError, match="is for files, but this source is a Table") as caught:
            count(named_pat, trap, **options)
        assert {caught.value.option} == set(options)
        assert caught.value.leave_out
    with pytest.raises(TypeError, match="ExTIcE needs the positives and the sample together"):
        count(ExTIcE().fit(positives), trap)
    with pytest.raises(InputError, match="fitted on an array without column names"):
        count(pat, __file__)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_of_any_rows_gives_the_same_counts(counting, trap, tmp_path_factory, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, 300), max_size=5)))
    rows = trap.slice(0, 300)
    folder = tmp_path_factory.mktemp("cuts")
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, 300], strict=True)):
        suffix = data.draw(st.sampled_from(["parquet", "feather"]))
        write(rows.slice(start, stop - start), folder / f"{i}.{suffix}")
    assert count(counting, folder) == counting.count(rows)
    by = data.draw(st.sampled_from([["night"], ["site"], ["night", "site"]]))
    assert count(counting, folder, by=by) == counting.count_by(rows, by)


def test_ten_thousand_groups(positives, draw):
    rng = np.random.default_rng(0)
    rows = draw(rng, 20_000, 30_000)
    frame = pd.DataFrame(rows, columns=list("abc")).assign(g=rng.integers(0, 10_000, len(rows)))
    model = PAT(random_state=0).fit(pd.DataFrame(positives, columns=list("abc")))
    grouped = count(model, [frame[:7000], frame[7000:7001], frame[7001:]], by="g")
    assert grouped == model.count_by(frame, "g")
    assert len(model.estimate_by(grouped)) == len(grouped) > 9900


# Warnings


@pytest.mark.parametrize("method", [RCQ(random_state=0), SubclassRCQ(2, random_state=0)])
def test_warnings_and_kinds_are_the_same_from_files(method, tmp_path):
    rng = np.random.default_rng(0)

    def table(rows, **columns):
        return pa.table({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], **columns})

    model = method.fit(table(rng.normal(size=(300, 3))))
    rows, sites = rng.normal(size=(900, 3)), np.repeat(["fine", "coded", "units"], 300)
    rows[310:350, 1] = -999
    rows[600:, 2] *= 1000
    sample = table(rows, site=sites)
    write(sample, tmp_path / "all.parquet")
    alone = model.quantify_groups(sample, "site")
    codes = {site: [caution.code for caution in p.warnings] for (site,), p in alone.items()}
    assert "missing-code" in codes["coded"]
    assert "other-units" in codes["units"]
    assert alone["units",].verdict.status == "do not use"
    assert alone["coded",].verdict.status != NO_DOUBT
    assert alone["fine",].verdict.status != "do not use"
    counted = count(model, tmp_path / "all.parquet", by="site")
    answers = dict(zip(counted.keys, model.estimate_by(counted), strict=True))
    assert_same_answer(answers, dict(alone))
