"""pyarrow itself, which is imported when the first file is read; and files of its own formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from poscount.errors import InputError

# Called now and then with how much is done, and of how much.
OnProgress = Callable[[int, int], None]
# From the names in a file to those that are read.
ChooseColumns = Callable[[list[str]], list[str]]


def pyarrow() -> Any:
    """Give the module with the parts that are used here, or say what to install."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Reading files needs pyarrow: pip install "poscount[cli]" brings it.'
        ) from error
    return pyarrow


def parquet_batches(
    path: str, choose: ChooseColumns, batch_rows: int, progress: OnProgress | None
) -> Iterator[Any]:
    """Yield the chosen columns of a Parquet file."""
    with pyarrow().parquet.ParquetFile(
        path,
        page_checksum_verification=True,
        # The columns of a whole row group may be large.
        buffer_size=2**16,
        pre_buffer=False,
    ) as file:
        schema, total = file.schema_arrow, file.metadata.num_rows
        chosen = choose(schema.names)
        if total == 0:
            yield _no_rows(schema, chosen)
        done = 0
        # Our own threads read and count in parallel; more threads would only slow them down.
        for batch in file.iter_batches(batch_rows, columns=chosen, use_threads=False):
            yield batch.select(chosen)
            done += batch.num_rows
            if progress:
                progress(done, total)


def arrow_batches(path: str, choose: ChooseColumns, progress: OnProgress | None) -> Iterator[Any]:
    """Yield the chosen columns of an Arrow file or stream."""
    pa = pyarrow()
    # Not mapped into memory: if the file is truncated meanwhile, the system kills the process.
    with pa.OSFile(path) as file:
        streamed = file.read(6) != b"ARROW1"
        connect = pa.ipc.open_stream if streamed else pa.ipc.open_file
        file.seek(0)
        names = connect(file).schema.names
        chosen = choose(names)
        fields = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in chosen])
        file.seek(0)
        reader = connect(file, options=fields)
        total = file.size() if streamed else reader.num_record_batches
        batches = reader if streamed else map(reader.get_batch, range(total))
        done = 0
        for done, batch in enumerate(batches, start=1):
            yield batch.select(chosen)
            if progress:
                progress(file.tell() if streamed else done, total)
        if progress and streamed:
            # The end mark behind the last batch has been read only now.
            progress(total, total)
        if done == 0:
            yield _no_rows(reader.schema, chosen)


def undamaged(batches: Iterable[Any], path: str, kind: str) -> Iterator[Any]:
    """Turn the errors that a damaged file causes into one sentence."""
    pa = pyarrow()
    # A memory error is among them, because a damaged length may ask for petabytes.
    signs = (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        pa.ArrowMemoryError,
        OSError,
        UnicodeDecodeError,
    )
    try:
        for batch in batches:
            # Text that points outside its buffer would crash the process when it is used.
            batch.validate(full=True)
            yield batch
    except InputError:
        raise
    except signs as error:
        raise InputError(
            f"this is not {kind}, although its extension says so, or it is damaged; write or copy "
            "it again.",
            file=path,
        ) from error


def _no_rows(schema: Any, chosen: list[str]) -> Any:
    """Make a batch that has the columns, and no rows."""
    table = schema.empty_table().select(chosen)
    arrays = [column.combine_chunks() for column in table.columns]
    return pyarrow().RecordBatch.from_arrays(arrays, schema=table.schema)
