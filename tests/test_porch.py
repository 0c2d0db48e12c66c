"""The porch: what is claimed about versions, workflows, releases and rooms is what is there."""

import ast
import importlib.util
import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import poscount
from import_walk import edges, parsed, source_files
from poscount.example import load_example

sys.path.append(str(Path(__file__).parents[1] / "docs" / "images"))
import make_architecture

from benchmarks.regression import house

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
ABOUT_THE_PROJECT = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "docs" / "contributing.md",
    ROOT / ".github" / "pull_request_template.md",
    WORKFLOW,
    *FORMS,
]


def required(*extras):
    """Requirements of the package, and of extras and the extras that these name."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    for requirement in map(Requirement, lines):
        if requirement.name == "poscount":
            yield from required(*requirement.extras)
        else:
            yield requirement


def lowest(requirement):
    (bound,) = requirement.specifier
    assert bound.operator == ">=", requirement
    return Version(bound.version)


def test_the_oldest_versions_are_the_lower_bounds():
    ours, _, others = (ROOT / ".ci" / "lowest.txt").read_text().partition("# Not ours")
    lines = [line.partition("#")[0].strip() for line in ours.splitlines()]
    pinned = {}
    for requirement in map(Requirement, filter(None, lines)):
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        pinned[requirement.name] = Version(pin.version)
    assert pinned == {each.name: lowest(each) for each in required("test-core")}
    assert others


def test_a_library_has_the_same_lower_bound_in_every_extra():
    bounds = {}
    for each in required(*EXTRAS):
        assert bounds.setdefault(each.name, lowest(each)) == lowest(each), each.name


def test_every_library_that_is_imported_is_required():
    declared = {canonicalize_name(each.name) for each in required(*EXTRAS)}
    known = packages_distributions()
    for file in source_files():
        for node in ast.walk(parsed(file)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in {str(name).partition(".")[0] for name in names}:
                if name != "poscount" and name not in sys.stdlib_module_names:
                    assert declared & set(map(canonicalize_name, known[name])), (str(file), name)


def test_the_core_is_everything_but_a_list_of_files_that_exist():
    spec = importlib.util.spec_from_file_location("root_conftest", ROOT / "conftest.py")
    root_conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(root_conftest)
    for place in root_conftest.BEYOND_CORE:
        assert (ROOT / place).exists(), place
    for pattern in PYPROJECT["tool"]["coverage"]["run"]["omit"]:
        folder = ROOT / "src" if pattern.startswith("*/") else ROOT
        assert list(folder.glob(pattern.removeprefix("*/"))), pattern


def test_the_workflow_tests_every_python_that_is_claimed():
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    found = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    matrix = jobs["core"]["strategy"]["matrix"]
    assert matrix["python"] == found
    assert PROJECT["requires-python"] == f">={found[0]}"
    assert {os.partition("-")[0] for os in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert {"run": ".ci/run"} in jobs["whole"]["steps"]
    # Nothing secret is needed, and a pull request of a stranger can change nothing.
    text = WORKFLOW.read_text(encoding="utf-8")
    assert "secrets" not in text
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("path", [*FORMS, ROOT / ".pre-commit-config.yaml"], ids=lambda p: p.name)
def test_forms_and_hooks_are_yaml(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"body", "repos", "blank_issues_enabled"} & set(content)


@pytest.mark.parametrize("path", ABOUT_THE_PROJECT, ids=lambda path: path.name)
def test_what_pages_about_the_project_name_exists(path):
    text = path.read_text(encoding="utf-8")
    places = re.findall(
        r"(?<![\w/.])((?:\.ci|\.github|benchmarks|docs|research|src|tests)/[\w/.-]*\w)", text
    )
    for place in places:
        # What is built, what stands for any page, and the method that contributing.md adds.
        generated = place.startswith("docs/_build") or place == "docs/PAGE.md"
        generated = generated or Path(place).stem.endswith("upper_mean")
        assert generated or (ROOT / place).exists(), place
    for names in re.findall(r"\.\[([\w,-]+)\]", text):
        assert set(names.split(",")) <= set(EXTRAS)


def test_contributing_fits_on_one_screen():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 105


def test_the_citation_has_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == poscount.__version__


def test_the_picture_of_the_rooms_is_not_stale():
    # python docs/images/make_architecture.py draws it again.
    tree = ElementTree.parse(ROOT / "docs" / "images" / "architecture.svg")
    (description,) = tree.iter("{http://purl.org/dc/elements/1.1/}description")
    drawn = json.loads(description.text)
    assert drawn["arrows"] == [list(edge) for edge in edges()]
    assert drawn["way"] == list(make_architecture.WAY)


def test_the_page_tells_the_way_that_is_drawn_and_a_row_takes_it(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\d+\. `(\w+)`", page, re.MULTILINE)) == make_architecture.WAY
    monkeypatch.chdir(tmp_path)
    positives, trap, _ = load_example("pyarrow")
    pq.write_table(positives, "positives.parquet")
    pq.write_table(trap, "trap.parquet")
    command = house._command_line()
    with house._Walk() as walk:
        command()
    entered = {Path(file).parts[0].removesuffix(".py") for file, _ in walk.calls}
    assert set(make_architecture.WAY) <= entered


def test_arrows_that_others_imply_are_left_out():
    arrows = [("a", "b"), ("a", "c"), ("b", "c"), ("d", "c")]
    kept = make_architecture.without_implied(arrows)
    assert kept == [("a", "b"), ("b", "c"), ("d", "c")]
    assert make_architecture.floors(arrows) == {"a": 2, "b": 1, "c": 0, "d": 1}
