"""What may follow an estimate: a trend, a comparison, a look for reasons to doubt it."""

from __future__ import annotations

from typing import NamedTuple

from poscount.app.data_files import DataFiles
from poscount.base.quantifier import Quantifier
from poscount.change import Trend
from poscount.change.series import Baseline
from poscount.change.series import trend as find_trend
from poscount.checks.second_sample import Comparison
from poscount.diagnostics.assumption_report import Diagnosis
from poscount.diagnostics.assumption_report import diagnose as diagnose_sample
from poscount.diagnostics.two_samples import compare_samples
from poscount.errors import InputError
from poscount.files.sampling import SampledRows


def trend(
    model: Quantifier,
    data: DataFiles,
    by: str,
    *,
    baseline: Baseline = None,
    smooth: bool = False,
) -> Trend:
    """Compare the groups of files as a series; the parameters are those of `poscount.trend`."""
    return find_trend(model, data.count(model, [by]), baseline=baseline, smooth=smooth)


def compare(model: Quantifier, data: DataFiles, reference: DataFiles) -> Comparison:
    """Compare the rows of files with those of others; see `poscount.compare_samples`."""
    return compare_samples(model, data.count(model), reference.count(model))


class FilesDiagnosis(NamedTuple):
    """A diagnosis, of how many of the unlabeled rows it was made, and how many there are."""

    diagnosis: Diagnosis
    n_used: int
    n_rows: int


def diagnose(
    model: Quantifier,
    data: DataFiles,
    *,
    positives: DataFiles | None = None,
    reference: DataFiles | None = None,
    most_rows: int | None = None,
) -> FilesDiagnosis:
    """Look for reasons to doubt what a model says of files of unlabeled rows.

    Parameters
    ----------
    model : Quantifier
    data : DataFiles
    positives : DataFiles, optional
        What the model was fitted on.
    reference : DataFiles, optional
        A second sample of another prevalence.
    most_rows : int, optional
        Look at no more rows than these, drawn at random by the seed of the model. Positives that
        are more cannot be used, because the model was not fitted on a part of them.
    """
    for file in data.counts_files:
        raise InputError(
            "a diagnosis looks at rows, not only at counts; give the data instead.", file=file
        )

    def read(data: DataFiles) -> SampledRows:
        if most_rows is not None:
            return data.sample(model, most_rows)
        table = data.read(model).table
        return SampledRows(table, table.num_rows)

    sample = read(data)
    labeled = None if positives is None else read(positives)
    second = None if reference is None else read(reference)
    found = diagnose_sample(
        model,
        sample.table,
        positives=labeled.table if labeled and labeled.complete else None,
        reference=second.table if second else None,
    )
    return FilesDiagnosis(found, sample.table.num_rows, sample.n_rows)
