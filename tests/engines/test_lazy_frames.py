"""What is not in memory is counted as what is."""

import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from poscount import InputError
from poscount.engines import count


@pytest.fixture(params=["polars", "dataset", "files"])
def lazy(request, trap, tmp_path):
    if request.param == "polars":
        return pl.from_arrow(trap).lazy()
    if request.param == "dataset":
        return pyarrow.dataset.dataset(trap)
    for i in range(3):
        rows = trap.slice(i * 1000, 1000)
        pyarrow.dataset.write_dataset(rows, tmp_path / str(i), format="parquet")
    return pyarrow.dataset.dataset(tmp_path)


def test_counts_are_those_of_the_table(named_pat, trap, lazy):
    assert len(trap) == 3000
    assert count(named_pat, lazy) == named_pat.count(trap)
    assert count(named_pat, lazy, by="night") == named_pat.count_by(trap, "night")


def test_weights(named_pat, weighted_trap):
    for lazy in (pl.from_arrow(weighted_trap).lazy(), pyarrow.dataset.dataset(weighted_trap)):
        expected = named_pat.count(weighted_trap, weights="weight")
        assert count(named_pat, lazy, weights="weight") == expected


def test_only_the_needed_columns_are_computed(named_pat, trap):
    def fail(_):
        raise AssertionError("a column that the model does not need was computed")

    more = pl.from_arrow(trap).lazy().with_columns(other=pl.col("a").map_batches(fail, pl.Float64))
    assert count(named_pat, more) == named_pat.count(trap)


def test_no_rows(named_pat, trap):
    for lazy in (pl.from_arrow(trap).lazy().head(0), pyarrow.dataset.dataset(trap.slice(0, 0))):
        assert count(named_pat, lazy).n == 0


def test_a_missing_column(named_pat, trap):
    with pytest.raises(InputError, match="no such column") as caught:
        count(named_pat, pl.from_arrow(trap).lazy().drop("a"))
    assert (caught.value.file, caught.value.column) == ("the lazy frame", "a")
    with pytest.raises(InputError, match="no such column"):
        count(named_pat, pyarrow.dataset.dataset(trap.drop_columns(["a"])))


def test_options_of_files_are_refused(named_pat, trap):
    with pytest.raises(InputError, match="decimal is for files"):
        count(named_pat, pl.from_arrow(trap).lazy(), decimal=",")


def test_groups_keep_their_kind_of_frame(named_pat, trap):
    found = named_pat.quantify_by(pyarrow.dataset.dataset(trap), by="night")
    assert found == named_pat.quantify_by(trap, by="night")
    assert isinstance(found, pa.Table)
