"""Files with a column that says what is known of their rows, taken apart by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from poscount.app.data_files import DataFiles
from poscount.auditing.batches import Batch, Source
from poscount.base.counting import BatchCounter
from poscount.base.quantifier import Quantifier
from poscount.data.grouping import group_columns
from poscount.data.labels import find_labels
from poscount.data.rows_seen import RowsSeen
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.derived_columns import with_periods
from poscount.files.features import chosen_columns, is_text, model_columns
from poscount.files.reading import FileRows, interpreted, join_tables, read_batches
from poscount.files.sampling import RowSample, SampledRows
from poscount.files.text_numbers import infer


@dataclass(frozen=True, kw_only=True)
class LabelledRows(DataFiles):
    """The rows of files that have one label, or none, in memory as they were read.

    Parameters
    ----------
    part : FileRows
        Without the column of the labels; text is not yet numbers.
    label : str
        The label that these rows have.
    """

    part: FileRows
    label: str = ""

    @property
    def group(self) -> str:
        """What a kind of negatives is called that has this label."""
        return self.label

    @property
    def why_not_again(self) -> str | None:
        """They can be read again: they are in memory."""
        return None

    def rows(self) -> FileRows:
        """All rows with all columns, which are numbers if all of their cells are."""
        table = self.part.table
        columns = [
            infer(column, name, self.read_options) if is_text(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        return self.part._replace(table=pyarrow().table(columns, names=table.column_names))

    def single(self) -> Iterator[DataFiles]:
        """The rows of each file by themselves."""
        ends = accumulate(self.part.n_rows, initial=0)
        for file, (first, end) in zip(self.files, pairwise(ends), strict=True):
            assert self.part.places is not None
            here = (self.part.places >= first) & (self.part.places < end)
            part = self.part._replace(
                table=self.part.table.filter(pyarrow().array(here)),
                places=self.part.places[here],
            )
            yield replace(self, part=part, label=file)

    def count(
        self,
        model: Quantifier,
        by: Sequence[str] = (),
        seen: RowsSeen | None = None,
    ) -> Any:
        """Count the rows, or those of each group."""
        rows = self.read(model, by)
        counter = BatchCounter(model, by, self.weights)
        counter.seen = seen
        try:
            return counter.count(rows.table)
        except InputError as error:
            raise rows.located(error) from error

    def read(self, model: Quantifier, by: Sequence[str] = ()) -> FileRows:
        """Give the columns that a model was fitted on, those to group by and the weights."""
        weights = [] if self.weights is None else [self.weights]
        columns = [*model_columns(model), *weights]
        return self._columns(columns, [*model.numeric_features_, *weights], by)

    def sample(
        self,
        columns: Sequence[str],
        numeric: Sequence[str],
        most: int,
        *,
        by: Sequence[str] = (),
        seed: int,
    ) -> SampledRows:
        """Draw `most` rows by a seed, and give some columns, of which some are numbers."""
        drawn = RowSample(most, seed=seed)
        for batch in self._columns(columns, numeric, by).table.to_batches():
            drawn.add(batch)
        return drawn.rows()

    def batches(
        self, model: Quantifier, by: Sequence[str] = (), weights: str | None = None
    ) -> Source:
        """All rows with all their columns, as often as they are asked for."""
        numeric = [*model.numeric_features_, *([] if weights is None else [weights])]
        rows = self._columns(self.part.table.column_names, numeric, by)
        return lambda: iter([Batch(as_frame_with_names(rows.table), self.name)])

    def _columns(
        self, columns: Sequence[str], numeric: Sequence[str], by: Sequence[str] = ()
    ) -> FileRows:
        pa, table = pyarrow(), self.part.table
        needed = list(dict.fromkeys([*columns, *group_columns(by, table.column_names)]))
        chosen_columns(table.column_names, None, needed, self.name)
        arrays = [table[name].combine_chunks() for name in needed]
        batch = pa.RecordBatch.from_arrays(arrays, names=needed)
        try:
            batch = interpreted(batch, numeric, self.read_options, self.name)
            batch = with_periods(batch, by, None, self.read_options.day_first, self.name)
        except InputError as error:
            raise self.part.located(error) from error
        return self.part._replace(table=pa.Table.from_batches([batch]))


class LabelledFiles(NamedTuple):
    """The rows of each label, and of no label.

    Attributes
    ----------
    positives, negatives : list of LabelledRows
        Each of one label.
    unlabeled : LabelledRows
    targets : list of str or None
        The labels of the positives, if they are several.
    sentence : str
        What becomes of the rows.
    """

    positives: list[LabelledRows]
    negatives: list[LabelledRows]
    unlabeled: LabelledRows
    targets: list[str] | None
    sentence: str


def take_apart(
    data: DataFiles,
    label: str,
    positive: Sequence[str] | None = None,
    negative: Sequence[str] | None = None,
) -> LabelledFiles:
    """Read files, and take their rows apart by a column; see `poscount.split`.

    Parameters
    ----------
    data : DataFiles
        All files together; they need that column.
    label : str
    positive, negative : sequence of str, optional
        Labels of positives and of known negatives.
    """
    tables = [
        pyarrow().Table.from_batches(list(read_batches(file, read_options=data.read_options)))
        for file in data.files
    ]
    rows = join_tables(data.files, tables, data.read_options)
    try:
        found = find_labels(
            as_frame_with_names(rows.table), label, positive=positive, negative=negative
        )
    except InputError as error:
        raise error.at(file=data.name) from error
    rest = rows.table.drop_columns([label])

    def part(value: str, places: Sequence[int]) -> LabelledRows:
        chosen = np.asarray(places, np.int64)
        return LabelledRows(
            files=data.files,
            read_options=data.read_options,
            weights=None if value else data.weights,
            part=rows._replace(table=rest.take(chosen), places=chosen),
            label=value,
        )

    return LabelledFiles(
        [part(value, found.rows[value]) for value in found.classes],
        [part(value, found.rows[value]) for value in found.negatives],
        part("", found.unlabeled),
        list(found.classes) if len(found.classes) > 1 else None,
        f"{data.name}: {found.in_words()}",
    )
