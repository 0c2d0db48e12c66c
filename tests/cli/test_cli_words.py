"""Errors in the words of the command line: the library's sentence, and a flag in its remedy."""

import ast
import contextlib
import itertools
import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import typer.main

import poscount
from poscount.app import estimates, fitting
from poscount.app.data_files import DataFiles
from poscount.cli import main
from poscount.cli.app import app
from poscount.cli.words import flag
from poscount.errors import InputError
from poscount.example import example_path
from poscount.files.read_options import ReadOptions

POSITIVES = str(example_path("positives.csv"))
TRAP = str(example_path("trap.csv.gz"))
SOURCE = Path(poscount.__file__).parent


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a command that must fail, and give back its one sentence."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("poscount: ")

    return run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files that something is wrong with, models and counts, by name."""
    folder = tmp_path_factory.mktemp("files")
    tables = {
        "comma.csv": "a;b\n1,5;2\n2,5;3\n",
        "point.csv": "a;b\n1.5;2\n2.5;3\n",
        "unclear.csv": "a,b;c\n1,2;x\n",
        "ragged.csv": "a,b\n1,2\n3,4,5\n",
        "bare.csv": "1.5,2\n3,4\n",
        "only.csv": "id\n7\n9\n",
    }
    for name, text in tables.items():
        (folder / name).write_text(text)
    for method in ("pat", "extice"):
        model = fit(POSITIVES, method, random_state=0)
        model.save(folder / f"{method}.poscount")
        if method == "pat":
            DataFiles([TRAP]).count(model).save(folder / "trap.counts")
    forest = fit(POSITIVES, "pat", random_state=0, scorer="isolation-forest")
    forest.save(folder / "forest.poscount")
    return folder


def fit(path, method="pat", read_options=None, **options):
    positives = DataFiles([str(path)], read_options or ReadOptions())
    return fitting.fit([positives], method, options=options).model


def quantify(folder, model, path, *, by=(), **how):
    return estimates.quantify(poscount.load(folder / model), DataFiles([str(path)], **how), by=by)


FOREST_TYPES = "sklearn.tree._tree.Tree"

# Words after the command, the same in Python, and the remedies of both.
CASES = {
    "decimal comma": (
        lambda files: ("fit", files / "comma.csv", "-o", "m", "--decimal", "."),
        lambda files: fit(files / "comma.csv"),
        "Pass --decimal ','.",
        "Set decimal=','.",
    ),
    "decimal point": (
        lambda files: ("fit", files / "point.csv", "-o", "m", "--decimal", ","),
        lambda files: fit(files / "point.csv", read_options=ReadOptions(decimal=",")),
        "Pass --decimal '.'.",
        "Set decimal='.'.",
    ),
    "no decimal mark": (
        lambda files: ("fit", files / "point.csv", "-o", "m", "--decimal", "x"),
        lambda files: fit(files / "point.csv", read_options=ReadOptions(decimal="x")),
        "Choose it with --decimal.",
        "Choose it with decimal=.",
    ),
    "unclear delimiter": (
        lambda files: ("fit", files / "unclear.csv", "-o", "m"),
        lambda files: fit(files / "unclear.csv"),
        "Choose it with --delimiter.",
        "Choose it with delimiter=.",
    ),
    "no delimiter": (
        lambda files: ("fit", files / "point.csv", "-o", "m", "--delimiter", "ab"),
        lambda files: fit(files / "point.csv", read_options=ReadOptions("ab")),
        "Choose it with --delimiter.",
        "Choose it with delimiter=.",
    ),
    "ragged": (
        lambda files: ("fit", files / "ragged.csv", "-o", "m"),
        lambda files: fit(files / "ragged.csv"),
        "Choose it with --delimiter.",
        "Choose it with delimiter=.",
    ),
    "no header": (
        lambda files: ("fit", files / "bare.csv", "-o", "m"),
        lambda files: fit(files / "bare.csv"),
        "Pass --no-header.",
        "Set header=False.",
    ),
    "columns": (
        lambda files: ("fit", files / "only.csv", "-o", "m"),
        lambda files: fit(files / "only.csv"),
        "Choose it with --features.",
        "Choose it with features=.",
    ),
    "method": (
        lambda files: ("fit", POSITIVES, "-o", "m", "--method", "patt"),
        lambda files: fit(POSITIVES, "patt"),
        "Choose it with --method.",
        "Choose it with method=.",
    ),
    "scorer": (
        lambda files: ("fit", POSITIVES, "-o", "m", "--method", "pat", "--scorer", "svm"),
        lambda files: fit(POSITIVES, scorer="svm"),
        "Choose it with --scorer.",
        "Choose it with scorer=.",
    ),
    "scorer of a method without": (
        lambda files: ("fit", POSITIVES, "-o", "m", "--method", "en", "--scorer", "mahalanobis"),
        lambda files: fit(POSITIVES, "en", scorer="mahalanobis"),
        "Leave --scorer out.",
        "Leave scorer= out.",
    ),
    "bootstrap": (
        lambda files: ("estimate", POSITIVES, TRAP, "--method", "pat", "--bootstrap", 5),
        lambda files: fit(POSITIVES, n_resamples=5),
        "Leave --bootstrap out.",
        "Leave n_resamples= out.",
    ),
    "name of a result": (
        lambda files: ("quantify", files / "pat.poscount", TRAP, "--by", "low"),
        lambda files: quantify(files, "pat.poscount", TRAP, by=["low"]),
        "Choose it with --by.",
        "Choose it with by=.",
    ),
    "groups of counts": (
        lambda files: (
            "quantify",
            files / "pat.poscount",
            files / "trap.counts",
            "--by",
            "night",
        ),
        lambda files: quantify(files, "pat.poscount", files / "trap.counts", by=["night"]),
        "Leave --by out.",
        "Leave by= out.",
    ),
    "engine": (
        lambda files: ("quantify", files / "extice.poscount", TRAP, "--engine", "dask"),
        lambda files: quantify(files, "extice.poscount", TRAP, engine="dask"),
        "Leave --engine out.",
        "Leave engine= out.",
    ),
    "trust": (
        lambda files: ("quantify", files / "forest.poscount", TRAP),
        lambda files: quantify(files, "forest.poscount", TRAP),
        f"Pass --trust '{FOREST_TYPES}'.",
        f"Set trusted=['{FOREST_TYPES}'].",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_and_python_differ_only_in_the_remedy(refused, files, case):
    words, call, on_command_line, in_python = CASES[case]
    with pytest.raises(InputError) as caught:
        call(files)
    error = caught.value
    assert str(error) == error.rendered(in_python)
    assert refused(*words(files)) == error.rendered(on_command_line)
    assert error.message.endswith(".")
    assert "--" not in error.message


def test_the_remedy_works(refused, files, capsys, monkeypatch):
    """What the sentence says to pass is accepted as it is written."""
    sentence = refused("quantify", files / "forest.poscount", TRAP)
    types = sentence.rsplit("--trust '")[1].removesuffix("'.")
    monkeypatch.setattr(
        sys,
        "argv",
        ["poscount", "quantify", str(files / "forest.poscount"), TRAP, "--trust", types],
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code


def errors_of_the_library():
    """Calls that make an error, in all rooms but those of the front ends."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] in {"cli", "web"}:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
                yield node


def texts(node):
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]


# Of the page's server, of `windows` and `ChangeDetector` in Python, and of research.
NO_FLAGS = {"limits", "time", "run_length", "drop", "y"}


def test_every_option_that_an_error_names_is_one_of_a_command():
    group = typer.main.get_command(app)
    commands = group.commands.values()
    flags = {name for command in commands for param in command.params for name in param.opts}
    named = {
        text
        for error in errors_of_the_library()
        for keyword in error.keywords
        if keyword.arg == "option"
        for text in texts(keyword.value)
        if text is not None
    }
    assert {"decimal", "delimiter", "header", "trusted", "features", "by"} <= named
    assert {flag(option) for option in named - NO_FLAGS} <= flags


def test_errors_of_the_library_name_no_flag():
    said = [text for error in errors_of_the_library() for text in texts(error)]
    assert len(said) > 300
    assert not [text for text in said if isinstance(text, str) and re.search("--[a-z]", text)]


# What text in a column means, to the end


def write(path, table, **changed):
    for name, change in changed.items():
        column = pa.array([change(value) for value in table[name].to_pylist()])
        table = table.set_column(table.column_names.index(name), name, column)
    pa.csv.write_csv(table, path)
    return path


@pytest.mark.parametrize(
    ("change", "guess", "sentence"),
    [
        (lambda x: f"{x:.2f}".replace(".", ","), (), "unless the comma is the decimal mark."),
        (lambda x: f"{1000 * x:,.0f}", "thousands", "Pass --thousands ',' or --decimal ','."),
        (lambda x: f"{1e6 * x:,.0f}".replace(",", "'"), "thousands", "Pass --thousands "),
        (lambda x: f"{x} Hz", "units", "it has the unit Hz. Pass --units 'wingbeat_hz=Hz'."),
        (lambda x: "?" if x > 500 else x, (), "may mean that the value is missing. Pass --na '?'."),
    ],
)
def test_numbers_in_another_form_are_not_left_out(refused, tmp_path, change, guess, sentence):
    """The first error does not suggest to leave the best feature out, and answers go wrong."""
    undo = (f"--{guess}", "none") if guess else ()
    positives = pa.csv.read_csv(POSITIVES)
    path = write(tmp_path / "p.csv", positives, wingbeat_hz=lambda x: str(change(x)))
    told = refused("fit", path, "-o", tmp_path / "m", *undo)
    assert f"{path}: column 'wingbeat_hz', row " in told
    assert sentence in told
    assert "--exclude" not in told
    # The same in the rows to be counted.
    model = tmp_path / "model.poscount"
    fit(POSITIVES).save(model)
    assert refused("quantify", model, path, *undo) == told


def test_words_that_differ_in_every_row_are_left_out(tmp_path, capsys, monkeypatch):
    positives = pa.csv.read_csv(POSITIVES)
    number = itertools.count()
    path = write(tmp_path / "p.csv", positives, wingbeat_hz=lambda x: f"recording {next(number)}")
    command = ["poscount", "fit", str(path), "-o", str(tmp_path / "m")]
    monkeypatch.setattr(sys, "argv", command)
    with contextlib.suppress(SystemExit):
        main()
    told = capsys.readouterr().err
    assert "'wingbeat_hz' holds text that differs in nearly every row, such as 'reco" in told
    assert "--exclude wingbeat_hz leaves them out" in told


def test_dates_are_left_out_and_the_command_says_so(tmp_path, capsys, monkeypatch):
    positives = pa.csv.read_csv(POSITIVES)
    dates = [f"2026-01-{1 + i % 28:02}" for i in range(len(positives))]
    path = write(tmp_path / "p.csv", positives.append_column("day", [dates]))
    arguments = ["poscount", "fit", str(path), "-o", str(tmp_path / "m"), "--method", "pat"]
    for more, said in (
        ([], "Not used as features: column 'day' holds dates or times such as '2026-01-01'."),
        (["--exclude", "day"], ""),
    ):
        monkeypatch.setattr(sys, "argv", [*arguments, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        assert capsys.readouterr().err.startswith(said)
        model = poscount.load(tmp_path / "m")
        assert list(model.feature_names_in_) == positives.column_names
