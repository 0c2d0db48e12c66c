"""What is collected, and fixtures of `tests` and of `research/tests`.

`pytest --core` leaves out what needs more than `test-core`, and what depends on no version of a
library: the whole suite has run it already.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent
# Tests that need an engine, a server, a browser, another library of quantifiers or the tools of
# the documentation; the paper's experiments, which no user installs; and tests of our own text, of
# signals, of full disks, of leaks and of what imports what; and long simulations. A file that is
# not listed belongs to the core, so a new test does.
BEYOND_CORE = (
    "research",
    "src/poscount/web",
    "tests/cli/test_interrupts.py",
    "tests/test_benchmark_watch.py",
    "tests/engines/test_dask.py",
    "tests/test_docs.py",
    "tests/test_docs_numbers.py",
    "tests/test_documentation.py",
    "tests/test_earlier.py",
    "tests/engines/test_duckdb.py",
    "tests/test_examples.py",
    "tests/test_imports.py",
    "tests/plotting/test_pictures.py",
    "tests/test_porch.py",
    "tests/prose.py",
    "tests/test_project.py",
    "tests/test_resources.py",
    "tests/test_rooms.py",
    "tests/test_seeds.py",
    "tests/test_surfaces.py",
    "tests/test_metamorphic.py",
    "tests/methods/test_constant_columns.py",
    "tests/methods/test_distributions.py",
    "tests/methods/test_intervals.py",
    "tests/interop/test_quapy_and_mlquantify.py",
    "tests/engines/test_spark.py",
    "tests/web",
    "tests/web_server.py",
)

collect_ignore = [
    # Their examples need a library that this machine may not have.
    *(
        f"src/poscount/interop/{library}.py"
        for library in ("mlquantify", "quapy")
        if find_spec(library) is None
    ),
]

# The files that take longest. They come first, so that no process waits for another in the end.
LONGEST = (
    "test_docs.py",
    "test_browser.py",
    "test_spark.py",
    "test_examples.py",
    "test_documentation.py",
    "test_determinism.py",
    "test_tree_search.py",
    "test_cli.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--core``."""
    parser.addoption("--core", action="store_true", help="only the tests that need test-core")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is beyond the core; otherwise pytest decides."""
    beyond = config.getoption("--core") and any(
        collection_path.is_relative_to(ROOT / place) for place in BEYOND_CORE
    )
    return beyond or None


@pytest.fixture
def global_generator_untouched():
    """Nothing in poscount may draw from, or seed, the caller's global generator."""
    before = np.random.get_state()[1:3]  # noqa: NPY002
    yield
    after = np.random.get_state()[1:3]  # noqa: NPY002
    assert np.array_equal(before[0], after[0])
    assert before[1] == after[1]


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """An empty data directory of its own."""
    directory = tmp_path / "data"
    directory.mkdir()
    monkeypatch.setenv("POSCOUNT_DATA", str(directory))
    return directory


@pytest.fixture(scope="session")
def paper_directory():
    """Where the paper's data are: POSCOUNT_DATA, or beside this repository."""
    beside = Path(__file__).resolve().parents[1] / "shared" / "data"
    directory = Path(os.environ.get("POSCOUNT_DATA", beside))
    if not (directory / "letter.csv.gz").exists():
        pytest.skip("the paper's data are not here: set POSCOUNT_DATA to their folder")
    return directory
