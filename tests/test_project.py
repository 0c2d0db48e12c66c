"""The project itself: its style, its types, its wheel, and what its README promises."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import poscount
from poscount import registry

ROOT = Path(__file__).parents[1]


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def answers_are_compared_whole():
    """Pages for users compare values by ``==``, as one does with floats."""


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff(arguments):
    done = run(sys.executable, "-m", "ruff", *arguments, ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy():
    done = run(sys.executable, "-m", "mypy")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_has_everything_and_runs(tmp_path):
    # Without isolation, so that no network is needed.
    build = run(
        *(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", str(tmp_path)),
    )
    assert build.returncode == 0, build.stderr
    (wheel,) = tmp_path.glob("poscount-*.whl")
    target = tmp_path / "installed"
    install = run(
        *(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index"),
        *("--target", str(target), str(wheel)),
    )
    assert install.returncode == 0, install.stderr
    probe = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import poscount; from poscount.example import load_example\n"
        "print(poscount.__file__, len(load_example().positives))"
    )
    done = run(sys.executable, "-c", probe)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(target / "poscount" / "__init__.py"), "400"]
    # Every file of the package is in the wheel, and no other but the licence and the metadata.
    source = ROOT / "src"
    ours = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        packed = set(map(Path, archive.namelist()))
    assert {path for path in packed if ".dist-info" not in path.parts[0]} == {
        path for path in ours if "__pycache__" not in path.parts
    }
    assert Path("poscount/py.typed") in packed


def test_the_conda_recipe_has_the_requirements_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text())
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["cli"], *extras["excel"], *extras["plot"]]
    of_conda = {"pyarrow": "pyarrow-core", "matplotlib": "matplotlib-base"}
    pairs = (re.fullmatch(r"([\w-]+)(>=.+)", each) for each in wanted if "[" not in each)
    expected = {f"{of_conda.get(pair[1], pair[1])} {pair[2]}" for pair in pairs}
    _, *run = recipe["requirements"]["run"]
    assert set(run) == expected
    assert recipe["context"]["version"] == poscount.__version__
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    assert recipe["about"]["license"] == project["license"]


def test_the_readme_s_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "of 8070 rows" in capsys.readouterr().out


def test_the_methods_of_the_readme_are_in_the_registry():
    rows = re.findall(r"^\| `(\w+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert "PAT" in rows
    assert {row.lower() for row in rows} <= set(registry.METHODS)


def test_every_public_name_is_there_and_documented():
    for name in poscount.__all__:
        assert getattr(poscount, name).__doc__, name
    assert set(poscount.__all__) <= set(dir(poscount))
    with pytest.raises(AttributeError, match="no attribute 'PATT'"):
        poscount.PATT  # noqa: B018


def test_the_changelog_knows_this_version():
    assert f"## {poscount.__version__} " in (ROOT / "CHANGELOG.md").read_text()
