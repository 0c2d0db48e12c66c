"""What may follow an estimate: a trend, a comparison, reasons to doubt it, rows to be labelled."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sklearn.ensemble import ExtraTreesClassifier

from poscount.app.data_files import DataFiles
from poscount.auditing.clustered import settle_clusters
from poscount.auditing.label_table import (
    FILE,
    ID,
    LABEL,
    earlier_labels,
    label_table,
    read_label_table,
)
from poscount.auditing.likely import likely_rows
from poscount.auditing.sampling import Design, draw
from poscount.auditing.settlement import Settlement, settle_sample
from poscount.base.quantifier import Quantifier
from poscount.change import Trend
from poscount.change.series import Baseline
from poscount.change.series import trend as find_trend
from poscount.change.two_samples import Comparison, compare_samples
from poscount.counts.clusters import with_cluster
from poscount.data.validation import as_frame_with_names
from poscount.diagnostics.assumption_report import Diagnosis
from poscount.diagnostics.assumption_report import diagnose as diagnose_sample
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.features import model_columns
from poscount.files.reading import read_table
from poscount.files.sampling import SampledRows
from poscount.methods.pu.dedpul import DEDPUL
from poscount.seeds import RandomState, seed_of
from poscount.storage.writer import csv_writer, write_whole


def trend(
    model: Quantifier,
    data: DataFiles,
    by: str,
    *,
    baseline: Baseline = None,
    smooth: bool = False,
    cluster: str | None = None,
) -> Trend:
    """Compare the groups of files as a series; the parameters are those of `poscount.trend`."""
    counts = data.count(model, with_cluster([by], cluster))
    return find_trend(model, counts, baseline=baseline, smooth=smooth, cluster=cluster)


def compare(model: Quantifier, data: DataFiles, reference: DataFiles) -> Comparison:
    """Compare the rows of files with those of others; see `poscount.compare_samples`."""
    return compare_samples(model, data.count(model), reference.count(model))


class FilesDiagnosis(NamedTuple):
    """A diagnosis of files.

    Attributes
    ----------
    diagnosis : Diagnosis
    sample, positives : pyarrow.Table
        The rows that it was made of; no positives if none were given.
    n_rows : int
        How many unlabeled rows there are, of which these may be a part.
    """

    diagnosis: Diagnosis
    sample: Any
    positives: Any
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
            columns, numeric = model_columns(model), model.numeric_features_
            return data.sample(columns, numeric, most_rows, seed=model.seed_)
        table = data.read(model).table
        return SampledRows(table, table.num_rows)

    sample = read(data)
    labeled = None if positives is None else read(positives)
    second = None if reference is None else read(reference)
    known = labeled.table if labeled and labeled.complete else None
    found = diagnose_sample(
        model, sample.table, positives=known, reference=second.table if second else None
    )
    return FilesDiagnosis(found, sample.table, known, sample.n_rows)


def other_methods(model: Quantifier, found: FilesDiagnosis) -> dict[str, float]:
    """What methods of other kinds say of the same rows: RCQ, PAT by RCQ's score, and DEDPUL."""
    answer, by_rcq = found.diagnosis.prevalence, found.diagnosis.by_rcq
    said: dict[str, float] = {} if by_rcq is None else {"RCQ": float(by_rcq)}
    details = answer.details if by_rcq is None else by_rcq.details
    if "pat" in details:
        said["PAT"] = min(1.0, float(details["pat"]))
    if found.positives is not None:
        # With trees, which are the best rival; a linear classifier cannot see negatives all around.
        trees = ExtraTreesClassifier(200, min_samples_leaf=5, random_state=model.seed_)
        dedpul = DEDPUL(trees, random_state=model.seed_)
        with suppress(InputError):  # rows that it cannot take, or too few
            dedpul.fit(found.positives, features=model.feature_names)
            said["DEDPUL"] = float(dedpul.quantify(found.sample))
    return {name: value for name, value in said.items() if name != answer.method}


# Rows to be labelled, what their labels say, and the likeliest rows


class ListedRows(NamedTuple):
    """Rows of files, with columns about them; and how many rows there are in all.

    Parameters
    ----------
    table : pyarrow.Table
    n_rows : int
    """

    table: Any
    n_rows: int

    def record(self) -> dict[str, Any]:
        """Names of the columns and rows of cells, in types that JSON has; dates are text."""
        columns = [[_plain(value) for value in column.to_pylist()] for column in self.table.columns]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return {"columns": self.table.column_names, "rows": rows, "n_rows": self.n_rows}

    def with_file_names(self, names: Mapping[str, str]) -> ListedRows:
        """The same rows, whose files are called otherwise."""
        files = [names.get(file, file) for file in self.table[FILE].to_pylist()]
        return self._with_texts(FILE, files)

    def with_labels(self, labels: Mapping[str, str]) -> ListedRows:
        """The same rows with labels, given by the values of their column audit_id.

        Examples
        --------
        >>> import pyarrow as pa
        >>> rows = ListedRows(pa.table({"label": [None, None], "audit_id": ["r1-0", "r2-0"]}), 9)
        >>> rows.with_labels({"r2-0": "yes"}).table["label"].to_pylist()
        [None, 'yes']
        """
        ids = self.table[ID].to_pylist()
        for row in labels:
            if row not in ids:
                raise InputError(f"{row!r} is none of the rows to be labelled.", column=ID)
        return self._with_texts(LABEL, [labels.get(row) for row in ids])

    def _with_texts(self, name: str, texts: list[str | None]) -> ListedRows:
        at = self.table.column_names.index(name)
        column = pyarrow().array(texts, pyarrow().string())
        return self._replace(table=self.table.set_column(at, name, column))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file, completely or not at all."""
        write_rows(self.table, path)


def audit(
    model: Quantifier,
    data: DataFiles,
    n: int = 100,
    *,
    by: Sequence[str] = (),
    weights: str | None = None,
    random_state: RandomState = 0,
    labelled: str | None = None,
) -> ListedRows:
    """Choose rows of files to be labelled, in two passes over them; in three with weights.

    Parameters
    ----------
    model : Quantifier
        A reusable one.
    data : DataFiles
        Each pass has a progress of its own.
    n, by, weights, random_state
        As in `poscount.audit`.
    labelled : str, optional
        An earlier file of the same model, rows and seed, whose labels are filled in.

    Returns
    -------
    ListedRows
        The column "label" is empty, or has earlier labels; `poscount.audit` describes the others.
    """
    design = Design(n, seed_of(random_state), tuple(by), weights)
    source = data.batches(model, by, weights)
    earlier = {}
    if labelled is not None:
        try:
            earlier = earlier_labels(_read_labels(labelled), model, design)
        except InputError as error:
            raise error.at(file=labelled) from error
    drawn = draw(model, source, design)
    table = label_table(drawn, model, design, earlier)
    return ListedRows(table.to_native(), drawn.prevalence.n_unlabeled)


def settle(
    model: Quantifier,
    data: DataFiles,
    labelled: str | ListedRows,
    *,
    rater_errors: tuple[float, float] | None = None,
    cluster: str | None = None,
) -> Settlement:
    """Turn labels of rows of files into a prevalence.

    Parameters
    ----------
    model : Quantifier
        The one that the rows were drawn with.
    data : DataFiles
        The files that they were drawn from.
    labelled : str or ListedRows
        A CSV or Excel file with labels, or what `audit` returned, with labels.
    rater_errors, cluster
        As in `poscount.settle`.
    """
    if isinstance(labelled, str):
        name, frame = labelled, _read_labels(labelled)
    else:
        name, frame = None, as_frame_with_names(labelled.table)
    try:
        table = read_label_table(frame, model)
    except InputError as error:
        raise error.at(file=name) from error
    # Errors in here are about the rows, and name their file.
    by = with_cluster(table.design.by, cluster)
    source = data.batches(model, by, table.design.weights)
    drawn = draw(model, source, table.design)
    try:
        settled = settle_sample(drawn, table, rater_errors=rater_errors)
    except InputError as error:
        raise error.at(file=name) from error
    if cluster is None:
        return settled
    return settle_clusters(settled, model, source, drawn, table, cluster, rater_errors)


def likely_positives(
    model: Quantifier, data: DataFiles, top: int = 200, *, by: Sequence[str] = ()
) -> ListedRows:
    """List the rows of files that are most likely positive, as `poscount.likely_positives` does."""
    table = likely_rows(model, data.batches(model, by), top, by)
    return ListedRows(table.to_native(), len(table))


def write_rows(table: Any, path: str | os.PathLike[str]) -> None:
    """Write the rows of a table to a CSV file, completely or not at all."""
    if not os.fspath(path).lower().endswith(".csv"):
        raise InputError(
            "rows are written as CSV; give the file a name that ends in .csv.", file=os.fspath(path)
        )
    text = io.StringIO(newline="")
    writer = csv_writer(text)
    writer.writerow(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow([_plain(value) for value in row])
    write_whole(path, text.getvalue().encode())


def _plain(value: Any) -> Any:
    """A value as JSON and CSV have it: whole numbers without a fraction, dates as text."""
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _read_labels(path: str) -> Any:
    # Everything as text, because a spreadsheet may have changed the type of a column.
    return as_frame_with_names(read_table(path, numeric=()))
