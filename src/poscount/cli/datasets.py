"""The commands on data sets: list, fetch, add, remove.

Only typer is imported with them, so that --help answers at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from poscount import workflows
from poscount.cli import options
from poscount.cli.options import Format, Output
from poscount.cli.output import Forms, give, progress_bar, records_as_csv
from poscount.cli.tables import print_table
from poscount.cli.words import say

app = typer.Typer(
    name="datasets",
    help="The paper's data sets, and your own under a name.",
    no_args_is_help=True,
)

_Names = Annotated[
    list[str] | None, typer.Argument(help="Keys or file names; all that can be fetched by default.")
]


@app.command("list")
def list_(
    output_format: Annotated[Format, typer.Option("--format", help="How to print the list.")] = (
        Format.table
    ),
    output: Output = None,
) -> None:
    """List all data sets that can be loaded, and whether their files are here."""
    from poscount.datasets import data_directory

    workflows.check_result(output)
    directory = data_directory()
    records = list(_records(directory))
    forms = Forms(lambda: _print_list(records, directory), lambda: records, records_as_csv(records))
    give(forms, output_format, output)


@app.command()
def fetch(
    names: _Names = None,
    base: Annotated[
        str | None,
        typer.Option(help="A mirror, such as https://mirror.example.org.", show_default=False),
    ] = None,
) -> None:
    """Download data sets of the paper into the data directory, with checksums."""
    from poscount import datasets

    fetchable = [key for key, entry in datasets.CATALOG.items() if entry.address]
    for name in names or fetchable:
        with progress_bar(name) as progress:
            path, receipt, new = datasets.fetch(name, base=base, progress=progress)
        if not new:
            say(f"{name}: {path} is here already.")
        elif receipt is not None and receipt.verified:
            say(f"{name}: {path}, checksum verified.")
        elif receipt is not None:
            say(
                f"{name}: {path}; no checksum was known, so this first one is trusted from "
                f"now on: sha256 {receipt.source_sha256} of {receipt.address}."
            )


@app.command()
def add(
    file: Annotated[str, typer.Argument(help="CSV (also gz), Parquet or Arrow with classes.")],
    name: Annotated[str, typer.Option(help="The name to load it by.")],
    label: Annotated[str, typer.Option(help="The column with the classes.")],
    positive: Annotated[str, typer.Option(help="The positive class.")],
    negatives: Annotated[
        str | None,
        typer.Option(help="The negative classes, separated by commas; all others by default."),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns that are not features, separated by commas.")
    ] = None,
) -> None:
    """Register a file of your own under a name, for every experiment."""
    from poscount.datasets import register

    data = register(
        name,
        file,
        label=label,
        positive=positive,
        negatives=options.names(negatives) or [],
        drop=options.names(drop) or [],
    )
    say(f"{data}, negatives {', '.join(data.negatives)}.")


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A registered name.")]) -> None:
    """Forget a registered name; the file stays."""
    from poscount.datasets import unregister

    unregister(name)
    say(f"{name} is forgotten; its file was not touched.")


def _records(directory: Path) -> Iterator[dict[str, Any]]:
    from poscount.datasets import CATALOG, overlaps, registered

    for key, entry in CATALOG.items():
        path = directory / f"{entry.file}.csv.gz"
        source = f"{entry.page} ({entry.verified})" if entry.address else entry.note
        size = (entry.rows, entry.n_features)
        about = (entry.positive, entry.title, entry.licence, source)
        yield _record(key, str(path), path.exists(), *size, *about)
    for name in overlaps.NAMES:
        size = overlaps.generate(name).features.shape
        about = (overlaps.POSITIVE, overlaps.title(name), "", "generated")
        yield _record(name, "", True, *size, *about)
    for name, own in registered().items():
        here = Path(own.path).exists()
        yield _record(name, own.path, here, None, None, own.positive, "", "", "registered")


def _record(*values: Any) -> dict[str, Any]:
    heads = ("name", "file", "here", "rows", "features", "positive", "title", "licence", "source")
    return dict(zip(heads, values, strict=True))


def _print_list(records: list[dict[str, Any]], directory: Path) -> None:
    from poscount.datasets import CATALOG

    rows = []
    for record in records:
        size = ("" if record[name] is None else str(record[name]) for name in ("rows", "features"))
        about = (record["positive"], record["title"] or record["file"])
        rows.append([record["name"], "yes" if record["here"] else "no", *size, *about])
    heads = ("name", "here", "rows", "features", "positive", "title")
    print_table(heads, rows, right=("rows", "features"))
    say(f"Files: {directory}. Sources and licences: --format json.")
    for name, entry in CATALOG.items():
        if not entry.address:
            say(f"{name} is not fetched. {entry.note}")
