"""`poscount serve`: the options of the page in the browser."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 8000,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Show the page in the browser.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Further name of this server, as behind a proxy.", show_default=False),
    ] = None,
    max_upload: Annotated[int, typer.Option(help="Megabytes that a file may have.")] = 200,
    max_disk: Annotated[int, typer.Option(help="Megabytes kept for all together.")] = 8000,
    max_rows: Annotated[int, typer.Option(help="Rows that a file may have.")] = 5_000_000,
    max_columns: Annotated[int, typer.Option(help="Columns that a file may have.")] = 1000,
    max_seconds: Annotated[int, typer.Option(help="Time that an estimate may take.")] = 300,
    max_memory: Annotated[int, typer.Option(help="Megabytes that an estimate may take.")] = 2000,
    workers: Annotated[
        int | None, typer.Option(help="Estimates at a time.", show_default="one per core")
    ] = None,
) -> None:
    """Serve a page on which files are dropped and counted; nothing leaves this machine."""
    try:
        from poscount.web.limits import MEGABYTE, Limits
        from poscount.web.server import serve as run
    except ImportError as error:
        raise ImportError(f'The page needs {error.name}: pip install "poscount[web]".') from error
    limits = Limits(
        upload_bytes=max_upload * MEGABYTE,
        disk_bytes=max_disk * MEGABYTE,
        rows=max_rows,
        columns=max_columns,
        seconds=max_seconds,
        memory_bytes=max_memory * MEGABYTE,
        **({} if workers is None else {"workers": workers}),
    )
    run(host, port, limits=limits, open_browser=open_browser, allow_hosts=allow_host or [])
