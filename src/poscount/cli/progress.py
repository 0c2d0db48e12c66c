"""Progress on standard error, where somebody looks on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from poscount.workflows import OnProgress


@contextmanager
def progress_bar(title: str) -> Iterator[OnProgress | None]:
    """Give a function that shows how much is done, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
