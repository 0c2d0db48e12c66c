"""Files of rows, and the ways to go through them: counted, whole, sampled, batch by batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from poscount.auditing.batches import Batch, Source
from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.counts.counts import Counts
from poscount.data.rows_seen import RowsSeen
from poscount.data.validation import as_frame_with_names
from poscount.engines.count_files import BytesRead, count_files
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.files.features import model_columns
from poscount.files.guessed_options import GuessedOptions
from poscount.files.read_options import DEFAULT_OPTIONS, SUFFIXES, ReadOptions
from poscount.files.reading import FileRows, expand, is_read_once, read_batches, read_files
from poscount.files.sampling import RowSample, SampledRows
from poscount.files.streams import source_name

# Called with a title for all that is counted in one go; gives a context with a progress function
# or None in it.
ProgressFactory = Callable[[str], AbstractContextManager[OnProgress | None]]

COUNTS_SUFFIX = ".counts"


def _without_sheets(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Paths without the sheets that follow them, and the sheet: one or none.

    Examples
    --------
    >>> _without_sheets(["book.xlsx:survey"])
    (['book.xlsx'], ['survey'])
    """
    ends = "|".join(map(re.escape, SUFFIXES["Excel"]))
    found = [re.fullmatch(rf"(?i)(.*(?:{ends})):(.+)", path) for path in paths]
    sheets = list(dict.fromkeys(match[2] for match in found if match))
    if len(sheets) > 1:
        raise InputError(
            f"the sheets {sheets[0]!r} and {sheets[1]!r} are to be read together; count them one "
            "by one.",
            file=paths[0],
        )
    return [match[1] if match else path for match, path in zip(found, paths, strict=True)], sheets


def no_progress(title: str) -> AbstractContextManager[None]:
    """Show no progress."""
    return nullcontext()


@dataclass(frozen=True)
class DataFiles:
    """Files of rows or of counts, how they are written, and what reads them.

    Parameters
    ----------
    files : sequence of str
        Each without wildcards; `matching` finds them.
    read_options : ReadOptions
        How they are written.
    weights : str, optional
        Column with the weight of each row; counts files keep the weights that they were made with.
    engine, n_jobs
        As in `poscount.engines.count`.
    progress : callable
        Called with a title for all that is counted in one go; gives a context with a progress
        function or None in it.
    """

    files: Sequence[str]
    read_options: ReadOptions = DEFAULT_OPTIONS
    weights: str | None = None
    engine: str = "auto"
    n_jobs: int = -1
    progress: ProgressFactory = no_progress

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.counts_files) == len(self.files):
            raise InputError(
                "a counts file has no rows that could be weighted; count the rows with their "
                "weights.",
                file=self.files[0],
                option="weights",
                leave_out=True,
            )

    @classmethod
    def matching(
        cls, paths: Sequence[str], guesses: GuessedOptions | None = None, **how: Any
    ) -> DataFiles:
        """Find files by names, globs and directories; ``-`` is standard input.

        Parameters
        ----------
        paths : sequence of str
            With guesses, the sheet of a workbook may follow its name, as in ``book.xlsx:survey``.
        guesses : GuessedOptions, optional
            What guesses how they are written, instead of `read_options`.
        **how
            The other parameters of `DataFiles`.

        Examples
        --------
        >>> from poscount import PAT
        >>> from poscount.example import example_path, load_example
        >>> model = PAT(random_state=0).fit(load_example().positives)
        >>> DataFiles.matching([str(example_path("trap.csv.gz"))]).count(model).n
        8070
        """
        workbooks, sheets = _without_sheets(paths)
        files = expand(workbooks)
        if guesses is not None:
            how["read_options"] = guesses.of_sheet(files, *sheets) if sheets else guesses.of(files)
        return cls(files, **how)

    @property
    def name(self) -> str:
        """What they are called in a sentence."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}"

    @property
    def counts_files(self) -> list[str]:
        """Those of them that hold counts instead of rows."""
        return [file for file in self.files if file.endswith(COUNTS_SUFFIX)]

    @property
    def why_not_again(self) -> str | None:
        """Why their rows cannot be read a second time, in a clause, or None if they can."""
        for file in self.files:
            if is_read_once(file):
                return f"{source_name(file)} can be read only once"
        return f"{self.counts_files[0]} has no rows" if self.counts_files else None

    @property
    def group(self) -> str:
        """What a kind of negatives is called that is in these files."""
        return self.name

    def rows(self) -> FileRows:
        """All rows with all columns."""
        return read_files(self.files, read_options=self.read_options)

    def single(self) -> Iterator[DataFiles]:
        """Each file by itself."""
        for file in self.files:
            weights = None if file in self.counts_files else self.weights
            yield replace(self, files=[file], weights=weights)

    def count(
        self,
        model: Quantifier,
        by: Sequence[str] = (),
        seen: RowsSeen | None = None,
    ) -> Any:
        """Count rows, and add the counts files.

        Parameters
        ----------
        model : CountingQuantifier
        by : sequence of str
            Columns whose values make the groups, of which each is counted; then there can be no
            counts files.
        seen : RowsSeen, optional
            Looks at the rows, in this process only.

        Returns
        -------
        Counts or GroupedCounts
        """
        if not isinstance(model, CountingQuantifier):
            raise InputError(
                f"{type(model).__name__} needs the positives and the sample together and cannot "
                "count: use a reusable method such as PAT."
            )
        counted = self.counts_files
        if by and counted:
            raise InputError(
                "a counts file has no groups; give the rows instead.",
                file=counted[0],
                option="by",
                leave_out=True,
            )
        parts: list[tuple[str, Any]] = [(file, Counts.load(file)) for file in counted]
        rows = replace(self, files=[file for file in self.files if file not in counted])
        if rows.files:
            counter = BatchCounter(model, by, self.weights)
            counter.seen = seen
            with self.progress(rows.name) as progress:
                counts = count_files(
                    counter,
                    rows.files,
                    engine=self.engine,
                    progress=progress,
                    # Which of equal rows are left out follows from their order.
                    n_jobs=1 if seen is not None and seen.drop_known else self.n_jobs,
                    read_options=self.read_options,
                )
            parts.append((rows.files[0], counts))
        return add_counts(parts)

    def read(self, model: Quantifier, by: Sequence[str] = ()) -> FileRows:
        """Read all rows of the columns that a model was fitted on, and of those to group by."""
        return read_files(
            self.files,
            columns=model_columns(model),
            numeric=model.numeric_features_,
            by=by,
            read_options=self.read_options,
        )

    def sample(
        self,
        columns: Sequence[str],
        numeric: Sequence[str],
        most: int,
        *,
        by: Sequence[str] = (),
        seed: int,
    ) -> SampledRows:
        """Read some columns, of which some are numbers, of `most` rows drawn by a seed.

        Columns to group `by` are read besides.
        """
        for file in self.counts_files:
            raise InputError("a counts file has no rows; give the data instead.", file=file)
        drawn = RowSample(most, seed=seed)
        for file, batch in self._read_batches(columns=columns, numeric=numeric, by=by):
            try:
                drawn.add(batch)
            except InputError as error:
                raise error.at(file=file) from error
        return drawn.rows()

    def batches(
        self, model: Quantifier, by: Sequence[str] = (), weights: str | None = None
    ) -> Source:
        """All rows with all their columns, as often as they are asked for."""
        # Without names of columns there is nothing to look for in files.
        model_columns(model)
        for file in self.files:
            if file == "-":
                raise InputError(
                    "rows are read twice, but standard input only once: save it to a file.",
                    file=file,
                )
            if file.endswith(COUNTS_SUFFIX):
                raise InputError("a counts file has no rows; give the data instead.", file=file)

        def read() -> Iterator[Batch]:
            rows = dict.fromkeys(self.files, 0)
            numeric = [*model.numeric_features_, *([] if weights is None else [weights])]
            for file, batch in self._read_batches(numeric=numeric, by=by):
                yield Batch(as_frame_with_names(batch), file, rows[file])
                rows[file] += batch.num_rows

        return read

    def _read_batches(self, **wanted: Any) -> Iterator[tuple[str, Any]]:
        """Go through all files, showing the progress; `wanted` is for `read_batches`."""
        with self.progress(self.name) as progress:
            read_so_far = BytesRead(self.files, progress)
            for file in self.files:
                for batch in read_batches(
                    file,
                    read_options=self.read_options,
                    progress=read_so_far.progress_of(file),
                    **wanted,
                ):
                    yield file, batch
                read_so_far.finish(file)


def add_counts(parts: Sequence[tuple[str, Any]]) -> Any:
    """Add counts that come with the names of their files."""
    (first, total), *rest = parts
    file_of = dict.fromkeys(getattr(total, "parts", ()), first)
    for file, counts in rest:
        its_parts = getattr(counts, "parts", ())
        for part in its_parts:
            if part in file_of:
                raise InputError(
                    f"its counts, or some of them, are also in {file_of[part]}, and would count "
                    "twice: leave one of the two out. Count different samples that happen to have "
                    "equal counts in one go.",
                    file=file,
                )
        file_of |= dict.fromkeys(its_parts, file)
        try:
            total += counts
        except ValueError as error:
            raise InputError(str(error), file=file) from error
    return total
