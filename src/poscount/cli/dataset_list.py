"""The list of data sets on standard output."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from poscount.cli.formats import Format
from poscount.datasets import CATALOG, data_directory, overlaps, registered

_COLUMNS = ("name", "file", "here", "rows", "features", "positive", "title", "licence", "source")


def show(form: Format) -> None:
    """Print every data set that has a name."""
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in _rows(data_directory())]
    if form is Format.json:
        print(json.dumps(rows, indent=2))
    elif form is Format.csv:
        writer = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        _print_table(rows)


def _rows(directory: Path) -> list[tuple]:
    listed: list[tuple] = []
    for key, entry in CATALOG.items():
        path = directory / f"{entry.file}.csv.gz"
        size = (entry.rows, entry.n_features)
        source = f"{entry.page} ({entry.verified})" if entry.address else entry.note
        here = path.exists()
        listed.append(
            (key, str(path), here, *size, entry.positive, entry.title, entry.licence, source)
        )
    for name in overlaps.NAMES:
        features = overlaps.generate(name).features.shape
        title = overlaps.title(name)
        listed.append((name, "", True, *features, overlaps.POSITIVE, title, "", "generated"))
    for name, own in registered().items():
        here = Path(own.path).exists()
        listed.append((name, own.path, here, None, None, own.positive, "", "", "registered"))
    return listed


def _print_table(rows: list[dict]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("name", "here", "rows", "features", "positive", "title"):
        table.add_column(name, justify="right" if name in ("rows", "features") else "left")
    for row in rows:
        here = "yes" if row["here"] else "no"
        size = ("" if row[name] is None else str(row[name]) for name in ("rows", "features"))
        table.add_row(row["name"], here, *size, row["positive"], row["title"] or row["file"])
    # No wrapping where nobody looks at a terminal: a table in a file keeps its lines.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)
    print(f"Files: {data_directory()}. Sources and licences: --format json.")
    for name, entry in CATALOG.items():
        if not entry.address:
            print(f"{name} is not fetched. {entry.note}")
