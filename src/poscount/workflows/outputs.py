"""Names of outputs, checked before the work for them begins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from poscount.errors import InputError
from poscount.files.reading import expand
from poscount.storage import writer as output_files


def check_output(path: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Refuse a name for an output: of a device, a directory or an input, or not writable.

    Parameters
    ----------
    path : str or None
        None if nothing is going to be written.
    inputs : sequence of str or None
        What is going to be read: files, globs, directories; None for what is not given.
    """
    if path is not None:
        output_files.check_output(path, _files(inputs))


def check_picture(path: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Refuse a name for a picture, also for an extension that names no format."""
    if path is not None:
        from poscount.plotting.display import picture_format

        picture_format(path)
        check_output(path, inputs)


def check_result(
    path: str | None, inputs: Sequence[str | None] = (), kinds: Sequence[str] = ("csv", "json")
) -> None:
    """Refuse a name for a result, also for an extension that is none of its formats.

    Parameters
    ----------
    path : str or None
        None if nothing is going to be written; ``-`` is standard output, in any format.
    inputs : sequence of str or None
        As in `check_output`.
    kinds : sequence of str
        Extensions, without the point.
    """
    if path is None or output_files.is_standard_output(path):
        return
    check_output(path, inputs)
    if os.path.splitext(path)[1].lower()[1:] not in kinds:
        *others, last = (f".{kind}" for kind in kinds)
        use = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"its extension names no format of this result; use {use}.", file=path)


def _files(inputs: Sequence[str | None]) -> Iterator[str]:
    for each in inputs:
        try:
            yield from expand([each] if each else [])
        except InputError:
            # Whoever reads it says what is wrong with it.
            continue
