"""From a results file to a report: tables, tests and pictures of experiments.

Nothing is evaluated here: everything comes from the results file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from poscount.storage.writer import check_output, write_whole

if TYPE_CHECKING:
    from poscount.experiments.report.document import ReportTable

TITLE = "Quantification from positives alone: results"


def write_report(
    store: str | Path,
    directory: str | Path,
    tell: Callable[[ReportTable], None] | None = None,
) -> Path:
    """Write the report of a results file: one HTML page, Markdown, CSV files and pictures.

    Parameters
    ----------
    store : str or Path
        SQLite file that `poscount reproduce` has written; it may be unfinished.
    directory : str or Path
        Where to write ``report.html``, ``report.md``, and the folders ``csv`` and ``figures``. It
        is created if it does not exist, and files of an earlier report are replaced.
    tell : callable, optional
        Gets each table that an experiment was run for.

    Returns
    -------
    Path
        The HTML page.
    """
    try:
        from poscount.experiments.report.chapters import all_chapters
        from poscount.experiments.report.document import Picture, as_markdown, as_page
        from poscount.experiments.report.frames import read
    except ImportError as error:
        raise ImportError(
            f'A report needs {error.name}: pip install "poscount[experiments]".'
        ) from error
    target = Path(directory)
    for page in ("report.md", "report.html"):
        if target.is_dir():
            check_output(target / page, [store])
    chapters = all_chapters(read(store))
    for folder in ("csv", "figures"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for item in (item for chapter in chapters for item in chapter.items):
        if isinstance(item, Picture):
            write_whole(target / "figures" / f"{item.name}.png", item.png)
        else:
            write_whole(target / "csv" / f"{item.name}.csv", item.csv().encode())
            if item.main and tell is not None:
                tell(item)
    write_whole(target / "report.md", as_markdown(TITLE, chapters).encode())
    write_whole(target / "report.html", as_page(TITLE, chapters).encode())
    return target / "report.html"
