"""Counting DuckDB relations and queries: the counts that memory gives."""

import numpy as np
import pyarrow as pa
import pytest

from poscount import PAT, InputError
from poscount.engines import count

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def connection(trap):
    with duckdb.connect() as connection:
        connection.register("arrow_trap", trap)
        connection.sql("CREATE TABLE trap AS SELECT * FROM arrow_trap")
        yield connection


def test_relations_queries_and_database_files(counting, trap, connection, tmp_path):
    expected = counting.count(trap)
    assert count(counting, connection.table("trap")) == expected
    assert count(counting, (connection, "SELECT c, b, a, 1 AS d FROM trap")) == expected
    half = count(counting, (connection, "SELECT * FROM trap WHERE site < 20"))
    chosen = trap.filter(pa.compute.less(trap["site"], 20))
    assert half == counting.count(chosen)
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(str(path)) as other:
        other.register("arrow_trap", trap)
        other.sql("CREATE TABLE trap AS SELECT * FROM arrow_trap")
    assert count(counting, (path, "FROM trap")) == expected


@pytest.mark.parametrize("by", ["night", ["site"], ["site", "night"], "at"])
def test_groups_in_duckdb(named_pat, trap, connection, by):
    assert count(named_pat, connection.table("trap"), by=by) == named_pat.count_by(trap, by)


def test_no_rows_in_duckdb(named_pat, trap, connection):
    nothing = (connection, "FROM trap WHERE false")
    assert count(named_pat, nothing) == named_pat.count(trap.slice(0, 0))
    assert len(count(named_pat, nothing, by="night")) == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_say_what_memory_says(named_pat, trap, connection, value):
    columns = trap.to_pydict()
    columns["b"][1234] = value
    columns["c"][1300] = np.nan
    spoilt = pa.table(columns)
    connection.register("spoilt", spoilt)
    with pytest.raises(InputError) as expected:
        named_pat.count(spoilt)
    for by in (None, "night"):
        with pytest.raises(InputError) as caught:
            count(named_pat, (connection, "FROM spoilt"), by=by)
        assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("value", [None, np.nan])
def test_gaps_are_counted_as_memory_counts_them(named_pat, trap, connection, value):
    columns = trap.to_pydict()
    columns["b"][1234] = columns["b"][1235] = columns["c"][1300] = value
    gapped = pa.table(columns)
    connection.register("gapped", gapped)
    found = count(named_pat, (connection, "FROM gapped"))
    assert found == named_pat.count(gapped)
    assert found.n == len(trap)
    # The last cells count what is missing in a, b and c, and rows that lack anything.
    assert found.cells[-4:].tolist() == [0, 2, 1, 3]
    by_night = count(named_pat, (connection, "FROM gapped"), by="night")
    assert by_night == named_pat.count_by(gapped, "night")


def test_missing_groups_and_columns_in_duckdb(named_pat, connection):
    holes = "SELECT * REPLACE (CASE WHEN site = 3 THEN NULL ELSE night END AS night) FROM trap"
    rows = connection.sql(holes).to_arrow_table()
    assert rows["night"].null_count
    for by in ("night", ["site", "night"]):
        found = count(named_pat, (connection, holes), by=by)
        assert found == named_pat.count_by(rows, by)
    assert (3, None) in found.keys
    with pytest.raises(InputError, match="the DuckDB relation: column 'b': the file has no such"):
        count(named_pat, (connection, "SELECT a, c FROM trap"))
    words = (connection, "SELECT a, b::VARCHAR AS b, c FROM trap")
    with pytest.raises(InputError, match="'b': it holds words here, but held numbers"):
        count(named_pat, words)


@pytest.mark.parametrize("kind", ["FLOAT", "DECIMAL(9,3)", "INTEGER", "SMALLINT", "UBIGINT"])
def test_types_of_duckdb(named_pat, trap, connection, kind):
    query = f"SELECT abs(a)::{kind} AS a, b::FLOAT AS b, (c > 5)::INTEGER::BOOLEAN AS c FROM trap"
    rows = connection.sql(query).to_arrow_table()
    assert count(named_pat, (connection, query)) == named_pat.count(rows)


def test_names_that_sql_must_quote(trap, positives, connection):
    names = ['a"b', "select", "x -- y"]
    model = PAT(random_state=0).fit(pa.table(dict(zip(names, positives.T, strict=True))))
    odd = trap.select(["a", "b", "c", "night"]).rename_columns([*names, 'n"ight'])
    connection.register("odd", odd)
    source = (connection, "FROM odd")
    assert count(model, source) == model.count(odd)
    assert count(model, source, by='n"ight') == model.count_by(odd, 'n"ight')


@pytest.mark.parametrize("weights", ["times", "weight"])
def test_weights_in_duckdb(named_pat, weighted_trap, connection, weights):
    connection.register("weighted", weighted_trap)
    source = (connection, "FROM weighted")
    assert count(named_pat, source, weights=weights) == named_pat.count(
        weighted_trap, weights=weights
    )
    by_night = named_pat.count_by(weighted_trap, "night", weights=weights)
    assert count(named_pat, source, by="night", weights=weights) == by_night
