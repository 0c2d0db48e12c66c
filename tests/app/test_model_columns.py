"""What a fitted model did with each of its columns, in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from poscount import PAT
from poscount.app.fitting import describe_columns
from poscount.data.columns import Column


def record(kind, missing=0.0, categories=(), rare=()):
    return Column("x", kind, missing, categories, rare)


@pytest.mark.parametrize(
    ("column", "done"),
    [
        (record("number"), "used as a number"),
        (record("number", 0.125), "used as a number, missing in 12.5 % of the positives"),
        (record("category", categories=("a", "b")), "used as 2 categories (a, b)"),
        (
            record("category", 0.25, ("a",), ("b", "c")),
            "used as 1 category (a), 2 rare ones counted as one, missing in 25 % of the positives",
        ),
        (
            record("category", categories=tuple("abcdefg")),
            "used as 7 categories (a, b, c, d, e and 2 more)",
        ),
        (record("category", categories=("a",), rare=("b",)), "used as 1 category (a), 1 rare one"),
        (record("left out"), "not used"),
    ],
)
def test_each_kind_has_its_words(column, done):
    (told,) = describe_columns(SimpleNamespace(columns_=[column]))
    assert told == ("x", column.kind, done)


def test_a_model_of_numbers_lists_its_columns_in_order():
    import pyarrow as pa

    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=60) for name in ("b", "a")})
    told = describe_columns(PAT(random_state=0).fit(table))
    assert [(column.name, column.kind) for column in told] == [("b", "number"), ("a", "number")]
