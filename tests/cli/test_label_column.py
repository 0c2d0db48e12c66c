"""One table with a column that says what is known: the same answers as from two files."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import poscount
from poscount.example import load_example
from workbooks import xlsx

WRITE = {
    "csv": pa.csv.write_csv,
    "parquet": pa.parquet.write_table,
    "xlsx": lambda table, path: path.write_bytes(
        xlsx({"d": [table.column_names, *map(list, zip(*table.to_pydict().values(), strict=True))]})
    ),
}


@pytest.fixture(scope="module")
def tables():
    example = load_example("pyarrow")
    columns = ["wingbeat_hz", "entropy_bits", "crossing_ms"]
    positives = example.positives.slice(0, 120).select(columns)
    sample = example.trap.slice(0, 500).select([*columns, "night"])
    return positives, sample


@pytest.fixture
def files(tables, tmp_path):
    """Two files, and the table that has the rows of both, among each other."""

    def files(known="yes", other=None, suffix="csv"):
        positives, sample = tables
        nights = pa.array(["2026-01-12"] * len(positives), pa.string())
        parts = [
            positives.append_column("night", nights.cast(sample["night"].type)),
            sample,
        ]
        labels = pa.array([known] * len(positives) + [other] * len(sample))
        both = pa.concat_tables(parts).append_column("known", labels)
        # Among each other; the rows of each part keep their order.
        places = [i / len(part) for part in parts for i in range(len(part))]
        order = sorted(range(len(both)), key=places.__getitem__)
        write = WRITE[suffix]
        paths = [tmp_path / f"{name}.{suffix}" for name in ("p", "t", "register")]
        for table, path in zip([*parts, both.take(order)], paths, strict=True):
            write(table, path)
        return paths

    return files


LABELS = {
    "yes and empty": ("yes", None, ()),
    "yes and unknown": ("yes", "unknown", ()),
    "1 and 0": (1, 0, ("--positive", "1")),
    "true and false": (True, False, ("--positive", "TRUE")),
    "a class among bounds": (">50K", "<=50K", ("--positive", ">50K")),
}


@pytest.mark.parametrize("suffix", WRITE)
@pytest.mark.parametrize("name", LABELS)
def test_the_answer_is_that_of_two_files(poscount_, files, name, suffix):
    known, other, options = LABELS[name]
    positives, sample, register = files(known, other, suffix)
    how = ("--exclude", "night", "--method", "pat", "--format", "json")
    expected = poscount_("estimate", positives, sample, *how).results()
    outcome = poscount_("estimate", register, "--label", "known", *options, *how)
    assert outcome.results() == expected
    assert (expected[0]["n_labeled"], expected[0]["n_unlabeled"]) == (120, 500)


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--by", "night"),
        ("--by", "month(night)"),
        ("--method", "extice", "--bootstrap", "3"),
        ("--by-file",),
        ("--positives-only",),
    ],
)
def test_what_can_be_asked_besides(poscount_, files, more):
    positives, sample, register = files()
    how = ("--exclude", "night", "--format", "json", *more)
    expected = poscount_("estimate", positives, sample, *how).results()
    found = poscount_("estimate", register, "--label", "known", *how).results()
    for each in (*expected, *found):
        each.pop("file", None)
    assert found == expected


def test_what_becomes_of_the_rows_is_said(poscount_, files):
    _, _, register = files()
    outcome = poscount_("estimate", register, "--label", "known", "--exclude", "night")
    assert outcome.err == (
        f"{register}: column 'known': 120 positives ('yes'); the other 500 rows are unlabeled.\n"
    )


def test_zero_may_mean_two_things(poscount_, refused, files):
    _, _, register = files(1, 0)
    assert refused("estimate", register, "--label", "known") == (
        f"poscount: {register}: column 'known': '0' (500 rows) may mean that nothing is known of "
        "these rows, or that they are known negatives. Pass --positive '1', or --positive '1' "
        "--negative '0'."
    )
    told = refused("estimate", register, "--label", "known", "--positive", "1", "--negative", "0")
    assert "every row has a label ('0' (500 rows), '1' (120 rows)), so there is none" in told


def relabelled(path, change):
    """Change labels of a CSV file; `change` is called with the number of the row."""
    table = pa.csv.read_csv(path)
    labels = [change(i, label) for i, label in enumerate(table["known"].to_pylist())]
    at = table.column_names.index("known")
    pa.csv.write_csv(table.set_column(at, "known", pa.array(labels, pa.string())), path)
    return table, labels


def test_known_negatives_and_targets(poscount_, files, tmp_path):
    _, _, register = files()
    table, labels = relabelled(register, lambda i, label: label or ("no" if i % 4 == 0 else None))
    how = ("--exclude", "night", "--format", "json")
    by_label = {}
    for label in ("yes", "no", None):
        rows = [i for i, each in enumerate(labels) if each == label]
        by_label[label] = tmp_path / f"{label}.csv"
        pa.csv.write_csv(table.drop_columns(["known"]).take(rows), by_label[label])
    expected = poscount_(
        "estimate", by_label["yes"], by_label[None], "--negatives", by_label["no"], *how
    ).results()
    options = ("--label", "known", "--positive", "yes", "--negative", "no")
    assert poscount_("estimate", register, *options, *how).results() == expected
    relabelled(register, lambda i, label: {"no": "other fly"}.get(labels[i], labels[i]))
    outcome = poscount_("estimate", register, "--label", "known", *how)
    assert [each["target"] for each in outcome.results()] == ["other fly", "yes", "other"]
    assert "positives ('other fly'), 120 positives ('yes'); the other" in outcome.err


def test_fit_learns_from_the_unlabeled_rows_too(poscount_, files, tmp_path):
    positives, sample, register = files()
    how = ("--exclude", "night")
    poscount_("fit", positives, "--unlabeled", sample, "-o", tmp_path / "two", *how)
    outcome = poscount_("fit", register, "--label", "known", "-o", tmp_path / "one", *how)
    assert outcome.status == 0
    assert f"distinct unlabeled rows of {register}." in outcome.out
    models = [poscount.load(tmp_path / name) for name in ("one", "two")]
    assert models[0].hash_ == models[1].hash_
    assert "known" not in models[0].feature_names_in_


def test_errors_name_the_row_of_the_table(poscount_, files, tmp_path):
    _, _, register = files()
    lines = register.read_text().splitlines()
    labels = [line.rsplit(",", 1)[1] for line in lines]
    for label in ('"yes"', ""):
        row = [i for i, each in enumerate(labels) if each == label][7]
        broken = lines.copy()
        broken[row] = "x" + broken[row]
        path = tmp_path / "broken.csv"
        path.write_text("\n".join(broken))
        outcome = poscount_("estimate", path, "--label", "known", "--exclude", "night")
        assert outcome.status == 2
        about_labels, error = outcome.err.splitlines()
        assert about_labels.startswith(f"{path}: column 'known': 120 positives ('yes');")
        assert error.startswith(f"poscount: {path}: column 'wingbeat_hz', row {row}: 'x")


def test_what_is_missing_is_asked_for(refused, files):
    positives, _, register = files()
    assert refused("estimate", register).endswith("Choose it with --label.")
    assert refused("estimate", register, positives, "--positive", "yes") == (
        "poscount: 'yes' is a label, but the column of the labels is not named. Choose it with "
        "--label."
    )
    assert refused("estimate", register, "--label", "Known").startswith(
        f"poscount: {register}: column 'Known': there is no such column; did you mean 'known'?"
    )
