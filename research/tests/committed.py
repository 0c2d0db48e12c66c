"""The committed evaluations, and the errors that follow from them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from research.experiments.archive import restore
from research.report import frames

ROOT = Path(__file__).parents[2]
EVALUATIONS = ROOT / "research" / "evaluations"
REPRODUCTION = ROOT / "docs" / "reproduction"


@cache
def stored():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.sqlite"
        restore(EVALUATIONS, path)
        return frames.read(path)


@cache
def errors():
    return frames.errors(stored().evaluations)
