"""SQL counts what numpy counts, also where a score lies on the edge of a cell to the last bit."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poscount import PAT, Mahalanobis, ODIn
from poscount.engines import count, score_sql
from poscount.engines import duckdb as duckdb_engine
from poscount.engines.score_sql import literal

duckdb = pytest.importorskip("duckdb")

# Number of features, their scales, and how far from zero their mean is in units of these.
SHAPES = {
    "one": (1, 1.0, 0.0),
    "plain": (3, 1.0, 0.0),
    "scales": (4, 10.0 ** np.array([-9.0, -2.0, 3.0, 8.0]), 1.0),
    "many": (20, 1.0, -3.0),
    "nearly the same": (5, 1.0, 0.0),
}


def named(rows):
    return pa.table({f"x{j}": column for j, column in enumerate(np.asarray(rows).T)})


@pytest.fixture(scope="module", params=SHAPES)
def positives(request):
    d, scale, shift = SHAPES[request.param]
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(400, d)) @ rng.normal(size=(d, d))
    if request.param == "nearly the same":
        rows[:, 1] = rows[:, 0] + 1e-2 * rows[:, 1]
    return (rows + shift) * scale


@pytest.fixture(scope="module", params=[PAT, ODIn])
def model(request, positives):
    return request.param(random_state=0).fit(named(positives))


@pytest.fixture(scope="module")
def on_the_edges(model):
    """Rows whose distance is that of an edge, and their neighbours in floating point."""
    rng = np.random.default_rng(0)
    scorer = model.scorer_
    rows = []
    for edge in model.edges_:
        for _ in range(6):
            direction = np.linalg.pinv(scorer.whitening_).T @ rng.normal(size=scorer.rank_)
            direction /= np.linalg.norm(direction @ scorer.whitening_)
            row = scorer.location_ - edge * direction
            # A step in the last bit of one feature moves the score by about a rounding error.
            j = rng.integers(len(row))
            for steps in range(-4, 5):
                neighbour = row.copy()
                neighbour[j] += steps * np.spacing(row[j])
                rows.append(neighbour)
    return np.array(rows)


@pytest.fixture
def in_sql(monkeypatch):
    """Counts rows in SQL, and says how many were handed back to numpy."""
    monkeypatch.setattr(duckdb_engine, "MOST_SQL_FEATURES", 1000)

    def counted(model, table, by=None):
        handed_back = []
        batches = duckdb_engine.count_batches

        def spy(*arguments, **options):
            counts = batches(*arguments, **options)
            handed_back.append(int(np.sum(counts.n)))
            return counts

        monkeypatch.setattr(duckdb_engine, "count_batches", spy)
        with duckdb.connect() as connection:
            connection.register("rows_in_arrow", table)
            counts = count(model, (connection, "FROM rows_in_arrow"), by=by)
        monkeypatch.setattr(duckdb_engine, "count_batches", batches)
        return counts, sum(handed_back)

    return counted


def test_rows_on_the_edges(model, on_the_edges, in_sql):
    counts, handed_back = in_sql(model, named(on_the_edges))
    assert counts == model.count(named(on_the_edges))
    assert handed_back > len(on_the_edges) / 2
    grouped = named(on_the_edges).append_column("g", [np.arange(len(on_the_edges)) % 3])
    assert in_sql(model, grouped, by="g")[0] == model.count_by(grouped, "g")


def test_without_the_bound_they_would_be_wrong(model, on_the_edges, in_sql, monkeypatch):
    triangle = score_sql._triangle

    # The narrowest band there is, one bit to either side.
    monkeypatch.setattr(score_sql, "_triangle", lambda matrix: (triangle(matrix)[0], 2.0**-52))
    counts, _ = in_sql(model, named(on_the_edges))
    # With one feature there is nothing to add up, and SQL does exactly what numpy does.
    assert (counts != model.count(named(on_the_edges))) == (model.n_features_in_ > 1)


def test_ordinary_rows_stay_in_sql(model, positives, in_sql):
    rng = np.random.default_rng(1)
    rows = positives[rng.integers(len(positives), size=20_000)] + rng.normal(
        scale=positives.std(axis=0), size=(20_000, positives.shape[1])
    )
    counts, handed_back = in_sql(model, named(rows))
    assert counts == model.count(named(rows))
    assert handed_back <= 2


def test_the_bound_holds_against_exact_arithmetic(model, on_the_edges):
    """numpy's and the triangle's squares both lie within half the bound of the true square."""
    scorer = model.scorer_
    triangle, error = score_sql._triangle(scorer.whitening_)
    for row in on_the_edges[::97]:
        centred = [Fraction(x) for x in (row - scorer.location_).tolist()]
        columns = [[Fraction(w) for w in column] for column in scorer.whitening_.T.tolist()]
        white = [sum(c * w for c, w in zip(centred, column, strict=True)) for column in columns]
        true = sum(z * z for z in white)
        numpy_s2 = Fraction(float(np.square(scorer._score_block(row[np.newaxis]))[0]))
        z = [float(sum(line * (row - scorer.location_))) for line in triangle]
        sql_s2 = Fraction(float(sum(value * value for value in z)))
        # The square of a rounded root has two roundings more.
        assert abs(numpy_s2 / true - 1) <= error / 2
        assert abs(sql_s2 / true - 1) <= error / 2
    assert error < 1e-6


def test_values_that_overflow_are_far_away(model, positives, in_sql):
    rng = np.random.default_rng(2)
    rows = np.concatenate([positives] * 3)
    rows[:800] *= 10.0 ** rng.choice([100, 160, 200, 290], (800, 1))
    rows[200:400, 0] = np.finfo(float).max
    rows[:200, -1] = -np.finfo(float).max / 4
    assert in_sql(model, named(rows))[0] == model.count(named(rows))


def test_a_table_that_changes_meanwhile_is_counted_in_batches(
    model, on_the_edges, in_sql, monkeypatch
):
    query = score_sql.ScoreSQL.doubtful_query
    monkeypatch.setattr(
        score_sql.ScoreSQL, "doubtful_query", lambda *args: f"FROM ({query(*args)}) LIMIT 1"
    )
    counts, handed_back = in_sql(model, named(on_the_edges))
    assert counts == model.count(named(on_the_edges))
    assert handed_back == len(on_the_edges) + 1


def test_a_constant_column_must_still_hold_numbers(in_sql):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(300, 2)), np.full(300, 7.0)])
    model = PAT(random_state=0).fit(named(rows))
    sql = score_sql.score_sql(model, ["x0", "x1", "x2"])
    assert len(sql.centred) == 2
    assert "x2" in sql.finite
    counts, handed_back = in_sql(model, named(rows))
    assert (counts, handed_back) == (model.count(named(rows)), 0)
    strict = PAT(missing="error", random_state=0).fit(named(rows))
    for refusing, value, name in ((strict, np.nan, "NaN"), (model, np.inf, "infinity")):
        rows[5, 2] = value
        with pytest.raises(ValueError, match=f"column 'x2', row 5: {name}"):
            in_sql(refusing, named(rows))
    rows[5, 2] = np.nan
    counts, _ = in_sql(model, named(rows))
    assert counts == model.count(named(rows))
    assert counts.cells[-4:].tolist() == [0, 0, 1, 1]


def test_what_has_no_bound_is_not_counted_in_sql():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))

    def sql_of(scorer, rows):
        model = PAT(scorer, random_state=0).fit(named(rows))
        return score_sql.score_sql(model, ["x0", "x1", "x2"])

    assert sql_of(Mahalanobis(), rows) is not None
    assert sql_of(Mahalanobis("ledoit-wolf"), rows) is not None
    assert sql_of(Mahalanobis(keep_float32=True), rows) is None
    # A column that repeats another: a row may be far in a direction that does not count.
    assert sql_of(Mahalanobis(), np.column_stack([rows[:, :2], rows[:, 0] * 2])) is None
    nearly = np.column_stack([rows[:, :2], rows[:, 0] + 1e-7 * rows[:, 2]])
    assert sql_of(Mahalanobis(), nearly) is None


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


@settings(max_examples=25)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_literals_keep_every_bit(connection, values):
    (got,) = connection.sql(f"SELECT [{', '.join(map(literal, values))}]").fetchall()
    assert np.array(got[0]).tobytes() == np.array(values).tobytes()


def test_bins_are_the_cells_with_a_band_at_every_edge():
    bounds, cells = score_sql._bins(np.array([3.0, 2.0, 1.0]), 1e-7)
    assert cells.tolist() == [3, -1, 2, -1, 1, -1, 0]
    assert bounds[:2].tolist() == [1 - 1e-7, 1 + 1e-7]
    # Edges so close that their bands touch share one.
    bounds, cells = score_sql._bins(np.array([3.0, 2.0, 2.0 + 1e-7]), 1e-7)
    assert cells.tolist() == [3, -1, 1, -1, 0]
    assert score_sql._bins(np.array([1.0, 0.0]), 1e-12) is None
    assert score_sql._bins(np.array([1.0, 2.0]), 1e-3 + score_sql._WIDEST) is None
