"""What each extra of poscount adds to an environment that has the core: packages and megabytes.

python -m benchmarks.speed.extras_size

It adds up the files of the packages that are installed here, so every extra must be.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
NOT_FOR_USERS = ("test", "test-core")


def packages(lines: list[str], found: set[str] | None = None) -> set[str]:
    """Names of the packages that these requirements install, with all that they need."""
    found = set() if found is None else found
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name == "poscount":
            for extra in requirement.extras:
                packages(EXTRAS[extra], found)
            continue
        wanted = {f"{name}[{extra}]" for extra in requirement.extras} | {name}
        if wanted <= found:
            continue
        found |= wanted
        needs = map(Requirement, distribution(name).requires or [])
        packages([str(need) for need in needs if _applies(need, requirement.extras)], found)
    return found


def _applies(need: Requirement, extras: set[str]) -> bool:
    return need.marker is None or any(
        need.marker.evaluate({"extra": extra}) for extra in ("", *extras)
    )


def megabytes(names: set[str]) -> float:
    """Size on disk of the files of these packages, compiled Python files not counted."""
    files = (file for name in names if "[" not in name for file in distribution(name).files or [])
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    core = packages(PROJECT["dependencies"])
    print("| extra | packages more than the core | MB more |")
    print("|---|---|---|")
    print(f"| the core | {len(core)} | {megabytes(core):.0f} |")
    for extra in EXTRAS:
        if extra not in NOT_FOR_USERS:
            more = {name for name in packages([f"poscount[{extra}]"]) - core if "[" not in name}
            print(f"| {extra} | {len(more)} | {megabytes(more):.0f} |")


if __name__ == "__main__":
    main()
