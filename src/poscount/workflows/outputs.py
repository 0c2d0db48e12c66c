"""Names of outputs, checked before the work for them begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from poscount import output_files
from poscount.errors import InputError
from poscount.files.reading import expand


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


def _files(inputs: Sequence[str | None]) -> Iterator[str]:
    for each in inputs:
        try:
            yield from expand([each] if each else [])
        except InputError:
            # Whoever reads it says what is wrong with it.
            continue
