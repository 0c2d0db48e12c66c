"""What is imported when: in processes of their own, because this one has imported everything."""

import contextlib
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator

import poscount
from poscount import registry
from poscount.cli import main


def modules_after(statement):
    return modules_and_errors_after(statement)[0]


def modules_and_errors_after(statement):
    script = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout)), done.stderr


HEAVY = {
    "sklearn.covariance",
    "sklearn.model_selection",
    "scipy.stats",
    "pandas",
    "polars",
    "pyarrow",
    "numba",
    "duckdb",
    "dask",
    "pyspark",
    "matplotlib",
    "skops",
    "pyod",
    "quapy",
    "mlquantify",
    "typer",
    "rich",
}


def test_the_package_alone_imports_nothing():
    modules = modules_after("import poscount; poscount.__version__")
    assert "poscount" in modules
    assert not {"numpy", "scipy", "sklearn", "narwhals", *HEAVY} & modules
    assert not {name for name in modules if name.startswith("poscount.")}


USE = """
import numpy as np
from poscount import PAT
rows = np.random.default_rng(0).normal(size=(50, 2))
PAT(random_state=0).fit(rows).quantify(rows)
"""


@pytest.fixture(scope="module")
def unavoidable():
    """scikit-learn itself imports pandas where there is one."""
    return modules_after("import sklearn.base")


@pytest.mark.parametrize("statement", ["from poscount import PAT", USE])
def test_a_method_imports_only_what_it_needs(statement, unavoidable):
    modules = modules_after(statement)
    assert "poscount.reusable.pat" in modules
    assert not HEAVY & (modules - unavoidable)


def test_no_import_brings_what_is_optional():
    # The methods that need a classifier import scikit-learn's, and what those bring.
    classifiers = modules_after("import sklearn.linear_model, sklearn.svm, sklearn.pipeline")
    assert not HEAVY & (modules_after("from poscount import *") - classifiers)


def test_the_web_server_leaves_the_library_to_its_workers():
    pytest.importorskip("fastapi")
    modules = modules_after("import poscount.cli.app, poscount.web.server")
    assert "uvicorn" in modules
    assert not ({"numpy", "scipy", "sklearn", "narwhals", *HEAVY} - {"typer"}) & modules


@pytest.mark.parametrize("name", poscount.__all__)
def test_every_public_name_is_there(name):
    value = getattr(poscount, name)
    assert value.__name__ == name
    assert value.__module__.startswith("poscount.")
    assert value.__doc__
    assert name in dir(poscount)


def test_the_names_of_the_package_come_from_files_and_the_registry_alone():
    modules = modules_after("import poscount; dir(poscount); poscount.__all__")
    assert {name for name in modules if name.startswith("poscount.")} == {
        "poscount.errors",
        "poscount.registry",
    }
    assert not {"numpy", "scipy", "sklearn", "narwhals", *HEAVY} & modules


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="no attribute 'Pat'"):
        poscount.Pat  # noqa: B018


# Commands that only count


COUNTING = [name for name, place in registry.METHODS.items() if ".reusable." in place]
QUANTIFY = """
import contextlib, io, sys
sys.argv = {arguments!r}
from poscount.cli import main
out = io.StringIO()
with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
    main()
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Tables with numbers, words and gaps, and models that were fitted on them."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("saved")

    def table(n):
        size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
        words = {"size": size, "site": rng.choice(["north", "south"], n)}
        return pa.table({**words, "times": rng.integers(0, 3, n), "big": rng.normal(size=n)})

    positives, sample = table(300), table(500)
    pq.write_table(sample, folder / "trap.parquet")
    pyarrow.csv.write_csv(sample, folder / "trap.csv")
    for name in COUNTING:
        model = registry.method(name)(random_state=0).fit(positives, features=["size", "big"])
        model.save(folder / f"{name}.poscount")
    mixed = poscount.RCQ(random_state=0).fit(positives, features=["size", "site", "big"])
    mixed.save(folder / "mixed.poscount")
    wide = {f"x{j}": rng.normal(size=300) for j in range(250)}
    poscount.RCQ(random_state=0).fit(pa.table(wide)).save(folder / "wide.poscount")
    pq.write_table(pa.table(wide), folder / "wide.parquet")
    return folder


COMMANDS = {
    **{name: [f"{name}.poscount", "trap.parquet"] for name in COUNTING},
    "csv": ["rcq.poscount", "trap.csv"],
    "groups": ["rcq.poscount", "trap.parquet", "--by", "site"],
    "weights": ["pat.poscount", "trap.csv", "--weights", "times", "--by", "site"],
    "words": ["mixed.poscount", "trap.csv"],
    "wide": ["wide.poscount", "wide.parquet"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_to_count_with_a_model_from_a_file_takes_no_scikit_learn(saved, name, monkeypatch, capsys):
    model, data, *options = COMMANDS[name]
    arguments = [str(saved / model), str(saved / data), *options, "--format", "json"]
    command = ["poscount", "quantify", *arguments]
    script = f"{QUANTIFY.format(arguments=command)}\nprint(out.getvalue(), file=sys.stderr)"
    modules, shown = modules_and_errors_after(script)
    # For groups, weights, words and whole tables, pyarrow imports pandas where there is one.
    plain = name not in ("groups", "weights", "words", "wide")
    assert not {"sklearn", "scipy.stats", "numba", *(["pandas"] if plain else [])} & modules
    # This process has scikit-learn, and the answers are the same to the last digit.
    monkeypatch.setattr(sys, "argv", command)
    with contextlib.suppress(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out) == json.loads(shown)


def test_other_models_bring_what_they_need(saved, tmp_path):
    pytest.importorskip("skops")
    rows = pq.read_table(saved / "trap.parquet").select(["big", "times"])
    foreign = poscount.PAT(scorer=registry.scorer("isolation-forest"), random_state=0)
    foreign.fit(rows).save(tmp_path / "foreign.poscount")
    poscount.BBE(random_state=0).fit(rows).save(tmp_path / "bbe.poscount")
    for name in ("foreign", "bbe"):
        model = str(tmp_path / f"{name}.poscount")
        command = ["poscount", "quantify", model, str(saved / "trap.parquet")]
        assert "sklearn" in modules_after(QUANTIFY.format(arguments=command))


def test_who_has_scikit_learn_keeps_it(saved):
    model = registry.load_to_count(saved / "rcq.poscount")
    assert isinstance(model, BaseEstimator)
    assert model.hash_ == poscount.load(saved / "rcq.poscount").hash_
