"""Limits that hold while a file is read: names of columns, their number, and keys of JSON lines."""

import json

import pytest

from poscount import InputError
from poscount.files.features import LONGEST_NAME, MOST_KEYS
from poscount.files.reading import read_table


def json_lines(path, keys, per_line=100):
    lines = [dict.fromkeys(keys[i : i + per_line], 1) for i in range(0, len(keys), per_line)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_json_lines_may_have_so_many_keys(tmp_path):
    fits = json_lines(tmp_path / "fits.jsonl", [f"k{i}" for i in range(MOST_KEYS)], 5000)
    assert read_table(fits).num_columns == MOST_KEYS
    more = json_lines(tmp_path / "more.jsonl", [f"k{i}" for i in range(4 * MOST_KEYS)])
    with pytest.raises(InputError, match=r"more\.jsonl: the file has more than 5,000 columns"):
        read_table(more)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_name_may_be_so_long(tmp_path, ending):
    def written(name):
        path = tmp_path / f"{len(name)}.{ending}"
        if ending == "csv":
            path.write_text(f"{name},b\n1,2\n")
        elif ending == "jsonl":
            path.write_text(json.dumps({name: 1, "b": 2}))
        else:
            pq = pytest.importorskip("pyarrow.parquet")
            pa = pytest.importorskip("pyarrow")
            pq.write_table(pa.table({name: [1], "b": [2]}), path)
        return str(path)

    assert read_table(written("n" * LONGEST_NAME)).num_columns == 2
    with pytest.raises(InputError, match="has 201 characters, and may have 200: it begins with"):
        read_table(written("n" * (LONGEST_NAME + 1)))


def test_a_file_may_have_so_many_columns(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(30)) + "\n" + ",".join(["1"] * 30) + "\n")
    assert read_table(str(path)).num_columns == 30
    from poscount.files.reading import read_batches

    with pytest.raises(InputError, match="more than 29 columns"):
        list(read_batches(str(path), most_columns=29))
