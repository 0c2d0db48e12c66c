"""Audits of files: by the command line, and as the page does."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from poscount import InputError, load
from poscount.app.data_files import DataFiles
from poscount.app.follow_ups import audit, settle
from workbooks import xlsx

N = 1200


@pytest.fixture(scope="module")
def data(draw):
    """Rows of a trap, those of positives first, with a number, a word and a date."""
    rng = np.random.default_rng(7)
    columns = dict(zip("abc", draw(rng, 400).T, strict=True))
    others = draw(rng, N - 400) + np.array([8.0, 3.0, 1.0])
    pairs = zip("abc", others.T, strict=True)
    rows = {name: np.append(columns[name], other) for name, other in pairs}
    night = np.array(["2026-01-12", "2026-01-13", "2026-01-14"])[np.arange(N) % 3]
    return pa.table({**rows, "number": np.arange(N), "night": night, "note": ['a "b", c'] * N})


@pytest.fixture
def files(tmp_path, data, poscount_, positives):
    """A model and a file of rows."""
    labeled = tmp_path / "positives.csv"
    pa.csv.write_csv(pa.table(dict(zip("abc", positives.T, strict=True))), labeled)
    model, trap = tmp_path / "m.poscount", tmp_path / "trap.csv"
    assert poscount_("fit", labeled, "-o", model).status == 0
    pa.csv.write_csv(data, trap)
    return model, trap


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def with_truth(rows):
    return [row | {"label": "Yes" if int(row["number"]) < 400 else "no"} for row in rows]


@pytest.fixture
def labelled(tmp_path, files, poscount_):
    path = tmp_path / "to_label.csv"
    assert poscount_("audit", *files, "-n", 80, "-o", path).status == 0
    write(path, with_truth(read(path)))
    return path


def test_from_rows_to_a_settled_prevalence(tmp_path, files, poscount_):
    path = tmp_path / "to_label.csv"
    outcome = poscount_("audit", *files, "-n", 80, "-o", path)
    assert outcome.out.splitlines()[0] == f"{path}: 80 of {N} rows to label."
    rows = read(path)
    assert len(rows) == 80
    assert {row["label"] for row in rows} == {""}
    for row in rows:
        # File and row say where it is, and its columns what it is.
        assert row["audit_file"] == str(files[1])
        assert int(row["number"]) == int(row["audit_row"]) - 1
        assert row["note"] == 'a "b", c'
    write(path, with_truth(rows))
    found = poscount_("settle", *files, path, "--width", 0.05, "--format", "json").results()
    assert found["labels"]["low"] <= 400 / N <= found["labels"]["high"]
    assert found["n_labelled"] == 80
    assert found["labels_needed"] > 80
    text = poscount_("settle", *files, path, "--width", 0.05).out
    assert "80 labels" in text
    assert f"needs about {found['labels_needed']} labels" in text
    lines = list(
        csv.DictReader(io.StringIO(poscount_("settle", *files, path, "--format", "csv").out))
    )
    assert lines[0]["answer"] == "labels"
    assert float(lines[0]["prevalence"]) == found["labels"]["prevalence"]


def test_labelled_rows_are_given_back(tmp_path, files, labelled, poscount_):
    new, known = tmp_path / "new.csv", tmp_path / "known.csv"
    outcome = poscount_(
        "settle", *files, labelled, "--positives-out", new, "--negatives-out", known
    )
    assert outcome.status == 0
    positives, negatives = read(new), read(known)
    assert len(positives) + len(negatives) == 80
    assert all(int(row["number"]) < 400 for row in positives)
    assert list(positives[0]) == ["a", "b", "c", "number", "night", "note"]
    # They are rows like those of the data, so that a model can be fitted on them.
    assert poscount_("fit", new, "--features", "a,b,c", "-o", tmp_path / "n.poscount").status == 0


def test_parts_and_formats_draw_the_same_rows(tmp_path, data, files, labelled, poscount_):
    expected = [row["audit_id"] for row in read(labelled)]
    folder = tmp_path / "parts"
    folder.mkdir()
    text = data.set_column(3, "number", data["number"].cast(pa.string()))
    pa.csv.write_csv(text[:700], folder / "a.csv")
    pa.parquet.write_table(text[700:], folder / "b.parquet")
    path = tmp_path / "again.csv"
    assert poscount_("audit", files[0], folder, "-n", 80, "-o", path).status == 0
    assert [row["audit_id"] for row in read(path)] == expected


def test_more_rows_later(tmp_path, files, labelled, poscount_):
    path = tmp_path / "more.csv"
    more = ("audit", *files, "-n", 150, "--labelled", labelled, "-o", path)
    assert poscount_(*more).status == 0
    filled = {row["audit_id"]: row["label"] for row in read(path) if row["label"]}
    assert filled == {row["audit_id"]: row["label"].lower() for row in read(labelled)}


def test_a_workbook_comes_back(tmp_path, files, labelled, poscount_):
    rows = read(labelled)
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    path = tmp_path / "to_label.xlsx"
    path.write_bytes(xlsx({"rows": cells}))
    expected = poscount_("settle", *files, labelled, "--format", "json").results()
    assert poscount_("settle", *files, path, "--format", "json").results() == expected
    # As a spreadsheet with decimal commas saves it.
    write(path.with_suffix(".csv"), rows)
    text = labelled.read_text()
    with open(tmp_path / "comma.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        for line in csv.reader(io.StringIO(text)):
            writer.writerow([cell.replace(".", ",") if _is_number(cell) else cell for cell in line])
    found = poscount_("settle", *files, tmp_path / "comma.csv", "--format", "json").results()
    assert found == expected


def _is_number(cell):
    try:
        return bool(float(cell)) or True
    except ValueError:
        return False


def _cell(text):
    return float(text) if text and _is_number(text) else (text or None)


def test_mistakes_are_one_sentence(tmp_path, data, files, labelled, refused):
    model, trap = files
    rows = read(labelled)

    def settled(rows, *paths):
        write(labelled, rows)
        return refused("settle", model, *(paths or [trap]), labelled)

    unsure = [row | {"label": "perhaps"} if i == 6 else row for i, row in enumerate(rows)]
    assert f"{labelled}: column 'label', row 7: 'perhaps' is not a label" in settled(unsure)
    assert "there is no label" in settled([row | {"label": " "} for row in rows])
    assert "row 81: 'r" in settled([*rows, rows[3]])
    other = [row | {"audit_model": "m0123"} for row in rows]
    assert "drawn with another model (m0123)" in settled(other)
    changed = tmp_path / "changed.csv"
    pa.csv.write_csv(data[1:], changed)
    assert "draw again" in settled(rows, changed)
    assert "standard input only once" in refused("audit", model, "-", "-o", tmp_path / "x.csv")
    assert "ends in .csv" in refused("audit", *files, "-o", tmp_path / "x.xlsx")
    assert "must be drawn, not 0" in refused("audit", *files, "-n", 0, "-o", tmp_path / "x.csv")
    assert "--random-state '0'" in refused(
        "audit",
        *files,
        "--random-state",
        1,
        "--labelled",
        labelled,
        "-o",
        tmp_path / "x.csv",
    )
    assert not (tmp_path / "x.csv").exists()


def test_likely_rows_of_files(tmp_path, files, poscount_, refused):
    path = tmp_path / "likely.csv"
    outcome = poscount_("rows", *files, "--top", 5, "--by", "night", "-o", path)
    assert outcome.out == f"{path}: the 15 rows that are most likely positive.\n"
    rows = read(path)
    assert [row["night"] for row in rows] == sorted([row["night"] for row in rows])
    assert all(int(row["number"]) < 400 for row in rows)
    assert all(int(row["source_row"]) == int(row["number"]) + 1 for row in rows)
    assert poscount_("rows", *files, "--top", 5, "--by", "month(night)", "-o", path).status == 0
    assert len(read(path)) == 5
    assert "no such" in refused("rows", *files, "--by", "week", "-o", path)


def test_the_page_sends_labels_back(files):
    model, trap = load(files[0]), DataFiles([str(files[1])])
    to_label = audit(model, trap, 80, random_state=3)
    record = json.loads(json.dumps(to_label.record()))
    at = {name: i for i, name in enumerate(record["columns"])}
    given = {
        row[at["audit_id"]]: "yes" if int(row[at["number"]]) < 400 else "no"
        for row in record["rows"]
    }
    settled = settle(model, trap, to_label.with_labels(given))
    assert settled.n_labelled == 80
    assert 400 / N in settled.prevalence.interval
    assert record["n_rows"] == N
    with pytest.raises(InputError, match="'r0' is none of the rows"):
        to_label.with_labels({"r0": "yes"})
    with pytest.raises(InputError, match="'perhaps' is not a label"):
        settle(model, trap, to_label.with_labels(dict.fromkeys(given, "perhaps")))
