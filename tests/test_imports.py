"""What is imported when: in processes of their own, because this one has imported everything."""

import json
import subprocess
import sys

import pytest

import poscount


def modules_after(statement):
    script = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


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
    assert "poscount.methods.pat" in modules
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
        "poscount.printable",
        "poscount.registry",
    }
    assert not {"numpy", "scipy", "sklearn", "narwhals", *HEAVY} & modules


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="no attribute 'Pat'"):
        poscount.Pat  # noqa: B018
