"""The commands on data sets: list, fetch, add, remove.

Only typer is imported here, so that ``--help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from poscount.cli.formats import Format

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
) -> None:
    """List all data sets that can be loaded, and whether their files are here."""
    from poscount.cli import dataset_list

    dataset_list.show(output_format)


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
    from poscount.cli.progress import progress_bar

    fetchable = [key for key, entry in datasets.CATALOG.items() if entry.address]
    for name in names or fetchable:
        with progress_bar(name) as progress:
            path, receipt, new = datasets.fetch(name, base=base, progress=progress)
        if not new:
            typer.echo(f"{name}: {path} is here already.")
        elif receipt is not None and receipt.verified:
            typer.echo(f"{name}: {path}, checksum verified.")
        elif receipt is not None:
            typer.echo(
                f"{name}: {path}; no checksum was known, so that this first one is trusted from "
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
        typer.Option(help="The negative classes, with commas between; all others by default."),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns that are no features, with commas between.")
    ] = None,
) -> None:
    """Register a file of your own under a name, for every experiment."""
    from poscount.datasets import register

    data = register(
        name, file, label=label, positive=positive, negatives=_list(negatives), drop=_list(drop)
    )
    typer.echo(f"{data}, negatives {', '.join(data.negatives)}.")


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A registered name.")]) -> None:
    """Forget a registered name; the file stays."""
    from poscount.datasets import unregister

    unregister(name)
    typer.echo(f"{name} is forgotten; its file was not touched.")


def _list(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]
