"""From files to the assumption report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from poscount.base.quantifier import Quantifier
from poscount.diagnostics.assumption_report import Diagnosis
from poscount.diagnostics.assumption_report import diagnose as diagnose_sample
from poscount.errors import InputError
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.reading import expand
from poscount.files.sampling import SampledRows, read_rows, sample_rows_from_files
from poscount.workflows.estimates import COUNTS_SUFFIX


class FilesDiagnosis(NamedTuple):
    """A diagnosis, of how many of the unlabeled rows it was made, and how many there are."""

    diagnosis: Diagnosis
    n_used: int
    n_rows: int


def diagnose(
    model: Quantifier,
    paths: Sequence[str],
    *,
    positives: str | None = None,
    reference: str | None = None,
    most_rows: int | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
    positives_format: CsvFormat | None = None,
    on_read: Callable[[], None] | None = None,
) -> FilesDiagnosis:
    """Look for reasons to doubt what a model says of files of unlabeled rows.

    Parameters
    ----------
    model : Quantifier
    paths : sequence of str
        Files of rows, globs or directories.
    positives : str, optional
        The file that the model was fitted on.
    reference : str, optional
        A second sample of another prevalence.
    most_rows : int, optional
        Look at no more rows than these, drawn at random by the seed of the model. Positives that
        are more cannot be used, because the model was not fitted on a part of them.
    csv_format : CsvFormat
        How files are written.
    positives_format : CsvFormat, optional
        How the file of positives is written, if it differs from the others.
    on_read : callable, optional
        Called when all files have been read, before the rows are looked at.
    """
    for path in paths:
        if path.endswith(COUNTS_SUFFIX):
            raise InputError(
                "a diagnosis looks at rows, not only at counts; give the data instead.", file=path
            )

    def read(paths: Sequence[str], written: CsvFormat = csv_format) -> SampledRows:
        files = expand(paths)
        if most_rows is None:
            table = read_rows(model, files, csv_format=written).table
            return SampledRows(table, table.num_rows)
        return sample_rows_from_files(model, files, most_rows, seed=model.seed_, csv_format=written)

    sample = read(paths)
    labeled = None if positives is None else read([positives], positives_format or csv_format)
    second = None if reference is None else read([reference])
    if on_read is not None:
        on_read()
    found = diagnose_sample(
        model,
        sample.table,
        positives=labeled.table if labeled and labeled.complete else None,
        reference=second.table if second else None,
    )
    return FilesDiagnosis(found, sample.table.num_rows, sample.n_rows)
