"""Draws docs/images/how_wrong.png: levels and coverage, and coverage by kind of trouble.

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

CALIBRATION, WARNINGS = (
    DOCS.parent / "benchmarks" / "results" / "calibration.md",
    DOCS / "warnings.md",
)
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
# What is drawn: its label, and the first cell of its row, from the easiest to the hardest.
AS_THEY_ARE = {
    "fewer than 5 % positives": "0 < p < .05",
    "more than 10,000 rows": "n_U > 10,000",
    "all unspoilt samples": "all",
    "fewer than 100 positives": "n_L < 100",
    "three columns or fewer": "d <= 3",
}
OVERLAP = {"recognisable positives": "recognisable", "all others": "not recognisable"}
DATA_SETS = {"letters": "letter", "German credit": "german_credit"}
BROKEN = {
    "negatives among the positives": "5 to 30 % negatives among the labelled positives",
    "codes for missing values": "codes for missing values",
    "positives that were picked": "labelled positives picked, or kinds in other shares",
    "recorded differently": "recorded differently: sensor, shift, noise",
    "columns of where or when": "a column that tells where or when",
    "prepared differently": "prepared differently: units, order, scaling",
    "tables swapped": "the two tables swapped",
}
BY_STRATUM = "RCQ without unlabeled rows, on the samples of the bank itself:"
BY_TABLE = "By table, means over tasks:"


def held(heading: str) -> dict[str, list[float]]:
    """How often intervals cover the truth (%) at each level, by the first cell of the row."""
    _, body = table_below(CALIBRATION, heading)
    return {row[0]: [100 * float(share) for share in row[3].split()] for row in body}


def coverages() -> list[tuple[str, float, str]]:
    """What, how often its 95 % interval covers the truth (%), and the colour of its dot."""
    at = LEVELS.index(0.95)
    strata, of_tables = held(BY_STRATUM), held(BY_TABLE)
    broken = {row[0]: float(row[-1]) for row in table_below(WARNINGS, "passed quietly:")[1]}
    found = []
    for chosen, known, colour in (
        (AS_THEY_ARE, strata, BLUE),
        (OVERLAP, strata, GREEN),
        (DATA_SETS, of_tables, PURPLE),
    ):
        found += [(label, known[name][at], colour) for label, name in chosen.items()]
    return found + [(label, broken[name], ORANGE) for label, name in BROKEN.items()]


def main(folder: Path) -> None:
    """Draw it into a folder."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.6), width_ratios=(1, 1.25), layout="constrained"
    )
    left.plot((40, 100), (40, 100), color="black", linewidth=0.8)
    for name, colour in (("all", BLUE), ("recognisable", GREEN), ("not recognisable", ORANGE)):
        shares, levels = held(BY_STRATUM)[name], [100 * level for level in LEVELS]
        left.plot(levels, shares, "o-", color=colour, markersize=7, linewidth=1, label=name)
    left.set(xlim=(40, 101), ylim=(40, 101), aspect="equal")
    left.set_xlabel("level of the interval (%)")
    left.set_ylabel("intervals that cover the truth (%)")
    left.set_title("Levels mean what they say, on average", fontsize=11)
    left.legend(frameon=False, loc="lower right")
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
