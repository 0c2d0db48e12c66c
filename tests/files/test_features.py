"""What the columns of a table hold, and which of them are features by default."""

import datetime

import pyarrow as pa
import pytest

from poscount.errors import InputError
from poscount.files.features import choose_features, describe_column

MANY = range(30)
# Values, the name of the column, and the kind.
KINDS = [
    ([1.5, 2.5], "size", "number"),
    ([3, 1, 2], "size", "number"),
    ([True, False, None], "flies", "category"),
    (["yes", "no"], "flies", "category"),
    (["TRUE", "FALSE"], "flies", "category"),
    (["north", "south"], "site", "category"),
    (pa.array(["7", "8"]).dictionary_encode(), "site", "category"),
    (pa.array([7, 8]).dictionary_encode(), "site", "category"),
    (pa.array([f"site {i % 3}" for i in MANY]).dictionary_encode(), "site", "category"),
    ([f"name {i}" for i in MANY], "who", "free text"),
    ([f"name {i}" for i in MANY[:19]], "who", "category"),
    ([f"name {i % 15}" for i in MANY], "who", "category"),
    ([f"name {i}" for i in MANY] + [None] * 100, "who", "free text"),
    (["2026-01-12", None], "night", "date"),
    ([datetime.date(2026, 1, 12)], "night", "date"),
    ([datetime.datetime(2026, 1, 12, 3)], "night_id", "date"),
    (list(MANY), "n", "identifier"),
    ([float(i) for i in MANY][::-1], "n", "identifier"),
    ([None, *MANY], "n", "identifier"),
    # Picked from a numbered table: the order is kept. A column in no order is a measurement.
    ([i * i for i in MANY], "n", "identifier"),
    ([(7 * i) % 31 for i in MANY] + [99], "n", "number"),
    ([i + 0.5 for i in MANY], "n", "number"),
    ([i * i for i in MANY[:19]], "n", "number"),
    ([3, 1, 2], "__index_level_0__", "identifier"),
    ([3, 1, 2], "Sample No.", "identifier"),
    ([3, 1, 2], "num_legs", "number"),
    ([3, 1, 2], "noise", "number"),
    ([1.5, 2.5], "body_mass_index", "number"),
    (["good", "bad"], "Color notes", "free text"),
    ([1.5, 2.5], "row_id", "identifier"),
    (["a", "b", "a"], "patientId", "identifier"),
    ([1, 2], "", "identifier"),
    ([[1], [2]], "parts", "other"),
    ([None, None], "nothing", "other"),
]


@pytest.mark.parametrize(("values", "name", "kind"), KINDS)
def test_kinds_of_columns(values, name, kind):
    column = values if isinstance(values, pa.Array) else pa.array(values)
    found = describe_column(column, name)
    assert (found.name, found.kind, found.problem) == (name, kind, None)
    assert (found.why_not_used is None) == (kind in ("number", "category"))


@pytest.mark.parametrize("cell", ["1,5", "12,000,000", "3 g", "?", "oops"])
def test_numbers_that_are_written_as_text_are_a_problem(cell):
    column = pa.array(["1", "2", "3", "4", "5", cell])
    found = describe_column(column, "size")
    assert (found.kind, found.problem.row, found.problem.column) == ("number", 5, "size")
    table = pa.table({"size": column})
    for features in (None, ["size"]):
        with pytest.raises(InputError, match=r"'size', row 6: .* is not a number"):
            choose_features(table, features, [], "p.csv")
    # An identifier by its name is left out for that, but may be asked for.
    table = pa.table({"size_id": column, "size": [1.5] * 6})
    assert choose_features(table, None, [], "p.csv").left_out == {
        "size_id": "looks like an identifier"
    }
    with pytest.raises(InputError, match="is not a number"):
        choose_features(table, ["size_id"], [], "p.csv")


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([1.5, None, float("nan"), 2.0], 0.5),
        (["a", None], 0.5),
        ([True], 0.0),
        (pa.array([], pa.float64()), 0.0),
    ],
)
def test_the_share_of_missing_values(values, share):
    assert describe_column(pa.array(values), "x").missing == share


def test_a_table_in_which_nothing_looks_like_a_feature():
    table = pa.table({"n": list(MANY)})
    with pytest.raises(InputError, match="it looks like an identifier, and there is no other"):
        choose_features(table, None, [], "p.csv")
    table = table.append_column("remark", pa.array([f"good {i}" for i in MANY]))
    with pytest.raises(InputError, match="no column looks like a feature: column 'n' lo"):
        choose_features(table, None, [], "p.csv")
    # Those that are left out by name are no reason to doubt the others.
    assert choose_features(table, ["n"], ["remark"], "p.csv").features == ["n"]


def test_columns_are_used_or_left_out():
    table = pa.table({"site": ["a", "b"], "night": ["2026-01-12", None], "size": [1.5, None]})
    found = choose_features(table, None, [], "p.csv")
    assert found.features == ["site", "size"]
    assert found.left_out == {"night": "holds dates or times such as '2026-01-12'"}
    assert choose_features(table, ["night", "size"], [], "p.csv") == (["night", "size"], {})
    assert choose_features(table, None, ["night"], "p.csv") == (["site", "size"], {})
