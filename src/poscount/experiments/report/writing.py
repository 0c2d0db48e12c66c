"""The report of a results file: Markdown, CSV, LaTeX and one HTML page from the same tables."""

from __future__ import annotations

from pathlib import Path

from poscount.container import write_whole

_NEEDS = 'A report needs {}: pip install "poscount[experiments]".'


def report(store: str | Path, directory: str | Path) -> Path:
    """Write the report of a results file.

    Parameters
    ----------
    store : str or Path
        SQLite file that `poscount reproduce` has written; it may be unfinished.
    directory : str or Path
        Where to write ``report.html``, ``report.md``, and the folders ``csv``, ``latex`` and
        ``figures``; it is made if need be, and files of an earlier report are replaced.

    Returns
    -------
    Path
        The HTML page.
    """
    try:
        from poscount.experiments.report.contents import contents, markdown, page
        from poscount.experiments.report.figures import Picture
        from poscount.experiments.report.results import read
    except ImportError as error:
        raise ImportError(_NEEDS.format(error.name)) from error
    sections = contents(read(store))
    target = Path(directory)
    for folder in ("csv", "latex", "figures"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for item in (item for section in sections for item in section.items):
        if isinstance(item, Picture):
            write_whole(target / "figures" / f"{item.name}.png", item.png)
            continue
        write_whole(target / "csv" / f"{item.name}.csv", item.csv().encode())
        if not item.long:
            write_whole(target / "latex" / f"{item.name}.tex", item.latex().encode())
    write_whole(target / "report.md", markdown(sections).encode())
    write_whole(target / "report.html", page(sections).encode())
    return target / "report.html"
