"""Some rows of files, drawn at random."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from poscount.app.data_files import DataFiles
from poscount.errors import InputError
from poscount.files.reading import expand, read_batches
from poscount.files.sampling import RowSample


@pytest.fixture
def rows_in(tmp_path, trap):
    """Draws from the trap, written as so many files; the number of the row is in the column a."""
    numbered = trap.set_column(0, "a", pa.array(np.arange(len(trap), dtype=float)))

    def draw(most, *, n_files=1, seed=0):
        folder = tmp_path / f"{n_files}"
        folder.mkdir(exist_ok=True)
        ends = np.linspace(0, len(trap), n_files + 1).astype(int)
        for i, (start, end) in enumerate(itertools.pairwise(ends)):
            part = numbered.slice(start, end - start)
            pa.parquet.write_table(part, folder / f"{i}.parquet")
        sample = RowSample(most, seed=seed)
        for file in expand([str(folder)]):
            for batch in read_batches(file, columns=["a", "b", "c"]):
                sample.add(batch)
        return sample.rows()

    return draw


def numbers(drawn):
    return drawn.table["a"].to_numpy().astype(int)


@pytest.mark.parametrize("most", [3000, 10**9])
def test_all_rows_if_they_are_not_too_many(rows_in, most):
    drawn = rows_in(most)
    assert drawn.n_rows == 3000
    assert drawn.table.column_names == ["a", "b", "c"]
    assert np.array_equal(numbers(drawn), np.arange(3000))


def test_rows_keep_their_order_and_come_once(rows_in, trap):
    drawn = rows_in(200)
    chosen = numbers(drawn)
    assert drawn.n_rows == 3000
    assert len(chosen) == 200
    assert (np.diff(chosen) > 0).all()
    assert np.array_equal(drawn.table["b"], trap["b"].take(chosen))


def test_the_choice_depends_on_the_seed_and_not_on_the_files(rows_in):
    assert np.array_equal(numbers(rows_in(200)), numbers(rows_in(200, n_files=7)))
    assert not np.array_equal(numbers(rows_in(200)), numbers(rows_in(200, seed=1)))


def test_every_row_has_the_same_chance(rows_in):
    counts = np.zeros(3000)
    for seed in range(60):
        counts[numbers(rows_in(600, n_files=3, seed=seed))] += 1
    # Of 60 draws a row is in 12 on average; thirds of the rows must not differ by more than
    # chance: each mean has a standard deviation of sqrt(60 * 0.2 * 0.8 / 1000) = 0.1.
    thirds = counts.reshape(3, 1000).mean(axis=1)
    assert np.abs(thirds - 12).max() < 0.5
    assert counts.max() < 30


def test_types_that_differ_between_files_are_an_error(tmp_path, trap):
    pa.parquet.write_table(trap, tmp_path / "0.parquet")
    text = trap.set_column(1, "b", pa.array(["x"] * len(trap)))
    pa.parquet.write_table(text, tmp_path / "1.parquet")
    names = ["a", "b", "c"]
    with pytest.raises(InputError, match="the same type as in the files before") as caught:
        DataFiles.matching([str(tmp_path)]).sample(names, names, 10, seed=0)
    assert caught.value.file == str(tmp_path / "1.parquet")
