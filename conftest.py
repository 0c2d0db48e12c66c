"""What is collected: `pytest --core` leaves out everything that needs more than `test-core`."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
# Tests that need an engine, a server, a browser, another library of quantifiers or the tools of
# the documentation. A file that is not listed belongs to the core, so a new test does.
BEYOND_CORE = (
    "src/poscount/web",
    "tests/test_benchmark_watch.py",
    "tests/engines/test_dask.py",
    "tests/test_docs.py",
    "tests/test_documentation.py",
    "tests/engines/test_duckdb.py",
    "tests/test_examples.py",
    "tests/test_pictures.py",
    "tests/test_porch.py",
    "tests/prose.py",
    "tests/test_project.py",
    "tests/test_prose.py",
    "tests/test_quapy_and_mlquantify.py",
    "tests/files/test_remote.py",
    "tests/engines/test_spark.py",
    "tests/test_web_api.py",
    "tests/test_web_browser.py",
    "tests/test_web_diagnosis.py",
    "tests/test_web_fairness.py",
    "tests/test_web_fuzz.py",
    "tests/test_web_hostile.py",
    "tests/test_web_intake.py",
    "tests/test_web_leftovers.py",
    "tests/test_web_resources.py",
    "tests/test_web_safety.py",
    "tests/test_web_tasks.py",
    "tests/web_server.py",
)

# Their examples need a library that this machine may not have.
collect_ignore = [
    f"src/poscount/interop/{library}.py"
    for library in ("mlquantify", "quapy")
    if find_spec(library) is None
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--core``."""
    parser.addoption("--core", action="store_true", help="only the tests that need test-core")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is beyond the core; otherwise pytest decides."""
    beyond = config.getoption("--core") and any(
        collection_path == ROOT / place for place in BEYOND_CORE
    )
    return beyond or None
