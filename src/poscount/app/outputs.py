"""Names of outputs, checked before the work for them begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from poscount.errors import InputError
from poscount.storage import writer


def check_output(path: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Refuse a name for an output: of a device, a directory or an input, or not writable.

    Parameters
    ----------
    path : str or None
        None if nothing is going to be written.
    inputs : iterable of str or None
        Files that are going to be read; None for what is not given.
    """
    if path is not None:
        writer.check_output(path, [file for file in inputs if file is not None])


def check_picture(path: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Refuse a name for a picture, also for an extension that names no format."""
    if path is not None:
        from poscount.plotting.display import picture_format

        picture_format(path)
        check_output(path, inputs)


def check_result(
    path: str | None, inputs: Iterable[str | None] = (), formats: Sequence[str] = ("csv", "json")
) -> None:
    """Refuse a name for a result, also for an extension that is none of its formats.

    ``-`` is standard output, in any format.
    """
    if path is None or writer.is_standard_output(path):
        return
    check_output(path, inputs)
    if os.path.splitext(path)[1].lower()[1:] not in formats:
        *others, last = (f".{each}" for each in formats)
        use = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"its extension names no format of this result; use {use}.", file=path)
