"""From a results file to a report: tables, tests and pictures of experiments.

Nothing is evaluated here: everything comes from the results file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from poscount.storage.writer import write_whole
from research.report.chapters import all_chapters
from research.report.document import Picture, ReportTable, as_markdown
from research.report.every_cell import cells_page
from research.report.frames import errors, read

TITLE = "Quantification from positives alone: results"


def write_report(
    store: str | Path,
    directory: str | Path,
    tell: Callable[[ReportTable], None] | None = None,
) -> Path:
    """Write the report of a results file: Markdown, CSV files and pictures.

    Parameters
    ----------
    store : str or Path
        SQLite file that `reproduce` has written; it may be unfinished.
    directory : str or Path
        Where to write ``report.md``, ``cells.md`` (every cell of the paper), and the folders
        ``csv`` and ``figures``. It is created if it does not exist, and files of an earlier report
        are replaced.
    tell : callable, optional
        Gets each table that an experiment was run for.

    Returns
    -------
    Path
        The Markdown page.
    """
    target = Path(directory)
    stored = read(store)
    found = errors(stored.evaluations)
    chapters = all_chapters(stored, found)
    for folder in ("csv", "figures"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for item in (item for chapter in chapters for item in chapter.items):
        if isinstance(item, Picture):
            write_whole(target / "figures" / f"{item.name}.png", item.png)
        else:
            write_whole(target / "csv" / f"{item.name}.csv", item.csv().encode())
            if item.main and tell is not None:
                tell(item)
    page = target / "report.md"
    write_whole(page, as_markdown(TITLE, chapters).encode())
    write_whole(target / "cells.md", cells_page(found).encode())
    return page
