"""No picture of the documentation is stale: each is what its script draws today."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
sys.path.append(str(Path(__file__).parents[2] / "docs" / "images"))
import made
import make_how_it_works
import matplotlib.pyplot as plt
import numpy as np

from poscount import RCQ
from poscount.example import load_example

IMAGES = made.FOLDER
# Tested in test_porch.py; and drawn by hand.
ELSEWHERE = {"architecture.svg", "door-cluster.svg", "door-python.svg"}


@pytest.fixture(scope="module")
def states():
    """Of pictures drawn in another process: here, other tests may have changed how things look."""
    command = [sys.executable, IMAGES / "made.py", "--state"]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    return json.loads(said.splitlines()[-1])  # scripts print other things before


@pytest.mark.parametrize("name", made.PICTURES)
def test_a_picture_is_what_would_be_drawn_today(name, states):
    assert states[name] == made.recorded().get(name), f"stale: python docs/images/made.py {name}"


def test_every_picture_has_a_script():
    pictures = {path.name for path in IMAGES.iterdir() if path.suffix in {".png", ".svg"}}
    screenshots = {name for name in pictures if name.startswith("web")}
    assert pictures - screenshots - ELSEWHERE == set(made.PICTURES)


def test_the_python_door_shows_the_answer_of_today():
    positives, trap, _ = load_example("pyarrow")
    p = RCQ(random_state=0).fit(positives).quantify(trap)
    shown = (IMAGES / "door-python.svg").read_text(encoding="utf-8")
    for share in (p, *p.interval):
        assert f">{100 * share:.1f} %" in shown


def test_the_picture_that_moves_has_the_answers_of_today():
    text = make_how_it_works.PAGE.read_text(encoding="utf-8")
    shown = json.loads(text[text.index("{") : text.rindex(";")])
    today = list(make_how_it_works.answers())
    assert len(shown["answers"]) == len(today)
    for old, new in zip(shown["answers"], today, strict=True):
        for name in ("regions", "answer", "likely"):
            np.testing.assert_allclose(old[name], new[name], atol=2)
        assert sum(old["regions"]) == shown["rows"]
        assert sum(old["likely"]) == 1000


def test_another_number_or_word_is_another_picture(tmp_path):
    def make(values, title):
        def draw(folder):
            figure, ax = plt.subplots()
            ax.plot(values)
            ax.set_title(title)
            figure.savefig(folder / "x.png")

        return made.drawn(made.Picture(draw), tmp_path)

    one = make([1, 2, 3], "title")
    assert make([1, 2, 3.0000001], "title") == one
    assert len({one, make([1, 2, 3.1], "title"), make([1, 2, 3], "other")}) == 3
