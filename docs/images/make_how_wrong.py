"""Draws docs/images/how_wrong.png: predicted and seen errors, and coverage by kind of trouble.

Run it with ``python docs/images/made.py how_wrong.png``; it needs matplotlib. All numbers are those
of the tables of the pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from doc_tables import DOCS, table_below
from poscount.plotting.display import BLUE, GREEN, ORANGE, PURPLE, light

CALIBRATION, WARNINGS = DOCS / "rcq-calibration.md", DOCS / "warnings.md"
TENTHS = "The expected error that goes with each answer, in tenths of the samples:"
# What is drawn: its label, and the first cell of its row, from the easiest to the hardest.
AS_THEY_ARE = {
    "fewer than 5 % positives": "0 < p < .05",
    "more than 10,000 rows": "n_U > 10,000",
    "all unspoilt samples": "all",
    "fewer than 100 positives": "n_L < 100",
    "three columns or fewer": "d <= 3",
}
OVERLAP = {
    "classes nearly separate": "AUC >= .95",
    "classes hardly different": "of these AUC < .8",
}
DATA_SETS = {"letters": "letter", "German credit": "german_credit"}
SPOILT = {
    "10 % negatives among positives": "10 % negatives in L",
    "20 % negatives among positives": "20 % negatives in L",
    "positives from one side": "one side of PC1",
    "all values 10 % larger": "all x 1.1",
    "columns exchanged": "two columns exchanged",
    "noise added": "noise of .5 sd",
}


def tenths() -> list[tuple[float, float]]:
    """Predicted and seen error in each tenth of the answers."""
    _, body = table_below(CALIBRATION, TENTHS)
    return [(float(predicted), float(seen)) for _, predicted, seen in body]


def coverages() -> list[tuple[str, float, str]]:
    """What, how often its interval covers the truth (%), and the colour of its dot."""
    # The column with the coverage, and the factor that makes it percent.
    places = (
        (AS_THEY_ARE, CALIBRATION, "## Each data set by the others", 5, 100, BLUE),
        (OVERLAP, CALIBRATION, "## Strong overlap", 5, 100, GREEN),
        (DATA_SETS, CALIBRATION, "split):", 5, 100, PURPLE),
        (SPOILT, WARNINGS, "## How often they are right", 3, 1, ORANGE),
    )
    found = []
    for chosen, page, heading, column, factor, colour in places:
        cells = {row[0]: row[column].partition(" ")[0] for row in table_below(page, heading)[1]}
        found += [(label, factor * float(cells[name]), colour) for label, name in chosen.items()]
    return found


def main(folder: Path) -> None:
    """Draw it into a folder."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.6), width_ratios=(1, 1.25), layout="constrained"
    )
    predicted, seen = zip(*tenths(), strict=True)
    left.plot((0, 24), (0, 24), color="black", linewidth=0.8)
    left.plot(predicted, seen, "o", color=BLUE, markersize=7)
    left.set(xlim=(0, 24), ylim=(0, 24), aspect="equal")
    left.set_xlabel("predicted error (points)")
    left.set_ylabel("error when left out (points)")
    left.set_title("The predicted error is right on average", fontsize=11)
    light(left)
    found = coverages()
    places = range(len(found), 0, -1)
    right.axvline(95, color="black", linewidth=0.8)
    for place, (_, coverage, colour) in zip(places, found, strict=True):
        right.plot(coverage, place, "o", color=colour, markersize=7)
        right.annotate(
            f"{coverage:.0f}",
            (coverage, place),
            (-8, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
            bbox={"facecolor": "white", "linewidth": 0, "pad": 0.8},
        )
    right.set_yticks(places, [label for label, _, _ in found])
    right.set_xlim(-12, 103)
    right.set_xlabel("95 % intervals that cover the truth (%)")
    right.set_title("An interval knows chance, not a broken assumption", fontsize=11)
    light(right)
    figure.savefig(folder / "how_wrong.png", dpi=120)
