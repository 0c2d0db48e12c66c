"""How the columns of all files of a session match, and what can be done with each of them.

The positives decide what a column is. Whatever is wrong is said here, before anything is estimated.
"""

from __future__ import annotations

from poscount.app.results import RESERVED
from poscount.errors import ask_about_similar, join_names
from poscount.web.schemas import ColumnInfo, ColumnMatch, Grouping
from poscount.web.sessions import Session, Upload

_LONGEST_VALUE = 30
MOST_TARGETS = 20
# A column of numbers with more different ones is a measurement, and makes no groups.
MOST_NUMBERS = 60
_SAME_NAME = "Give it the same name in all files."


def match_columns(session: Session, most_groups: int) -> list[ColumnMatch]:
    """Describe all columns of a session: those of the positives, then those of the other files.

    Parameters
    ----------
    session : Session
    most_groups : int
        Values of a column that make more groups than these are not offered as groups.
    """
    positives = next(iter(session.of_role("positives")), None)
    unlabeled = [_File(upload) for upload in session.of_role("unlabeled")]
    known = {column.name: column for column in positives.content.columns} if positives else {}
    others = (name for file in unlabeled for name in file.columns)
    matches = []
    for name in dict.fromkeys([*known, *others]):
        if positives is not None and name in known:
            match = _of_positives(positives.label, known, name, unlabeled)
        else:
            match = _of_others(name, unlabeled, None if positives is None else positives.label)
        no_periods = _no_periods(name, unlabeled)
        of_files = [known.get(name), *(file.columns.get(name) for file in unlabeled)]
        mends = [mend for column in of_files if column for mend in column.mends]
        more = {
            "groupings": _groupings(name, unlabeled, most_groups),
            "no_periods": no_periods,
            "mends": mends[:1] if match.problem or no_periods else [],
        }
        matches.append(match.model_copy(update=more))
    return matches


def why_no_group(session: Session, by: str, by_file: bool, most_groups: int) -> str:
    """Say why a column, or what else an estimate was to be grouped by, makes no groups."""
    files = [_File(upload) for upload in session.of_role("unlabeled")]
    if is_taken(by, by_file):
        return f"{by}: the result has a column of this name: rename yours, or choose another."
    if all(by in file.columns for file in files):
        return too_many_groups([by], most_groups)
    return f"Not every unlabeled file has a column {by!r} that makes groups."


def is_taken(name: str, by_file: bool) -> bool:
    """Tell whether the result has a column of this name, so that no group can have it."""
    return name in RESERVED or (name == "file" and by_file)


def too_many_groups(by: list[str], most_groups: int) -> str:
    """Say that some columns make too many groups."""
    return (
        f"{', '.join(by)}: this makes more than {most_groups:,} groups; choose a column with fewer "
        "values."
    )


class _File:
    """A file of unlabeled rows, and its columns by name."""

    def __init__(self, upload: Upload) -> None:
        self.name, self.rows = upload.label, upload.content.rows
        self.columns = {column.name: column for column in upload.content.columns}


def _of_positives(
    file: str, known: dict[str, ColumnInfo], name: str, unlabeled: list[_File]
) -> ColumnMatch:
    column = known[name]
    without = [other for other in unlabeled if column.name not in other.columns]
    problem, why_not = column.problem, column.why_not_used
    usable = problem is None and column.kind not in ("date", "other")
    if without:
        usable, problem = False, problem or _renamed(name, without, known)
        why_not = f"is missing in {join_names(other.name for other in without)}"
    elif usable:
        usable, problem = _compared(file, column, unlabeled)
    if column.missing == 1:
        why_not = "has no values"
    if column.kind not in ("number", "category"):
        # Nobody is asked to mend a column that is not used.
        problem = problem if without else None
    return ColumnMatch(
        name=column.name,
        kind=column.kind,
        distinct=column.distinct,
        missing=column.missing,
        missing_unlabeled=_missing(column.name, unlabeled),
        usable=usable,
        use=usable and why_not is None and problem is None,
        targets=_targets(column),
        groupings=[],
        why_not=why_not,
        problem=problem,
        no_periods=None,
    )


def _targets(column: ColumnInfo) -> int | None:
    """Number of targets that a column of the positives can name."""
    n = column.distinct
    named = column.kind == "category" and column.missing == 0 and n is not None
    return n if named and n is not None and 2 <= n <= MOST_TARGETS else None


def _of_others(name: str, unlabeled: list[_File], positives: str | None) -> ColumnMatch:
    first = next(file.columns[name] for file in unlabeled if name in file.columns)
    return ColumnMatch(
        name=name,
        kind=first.kind,
        distinct=first.distinct,
        missing=None,
        missing_unlabeled=_missing(name, unlabeled),
        usable=False,
        use=False,
        groupings=[],
        why_not=None if positives is None else f"is missing in {positives}",
        problem=None,
        no_periods=None,
    )


def _compared(file: str, column: ColumnInfo, unlabeled: list[_File]) -> tuple[bool, str | None]:
    """Say whether a column can be used, and what is wrong with it, by what the others hold."""
    for other in unlabeled:
        there = other.columns[column.name]
        if column.kind == "category":
            if _has_numbers(there) and not column.numeric:
                return True, _numbers_for_words(file, column, other.name, there)
        elif column.numeric and there.problem is not None:
            return False, there.problem
    return True, None


def _has_numbers(column: ColumnInfo) -> bool:
    # Booleans are numbers to pyarrow, and a column without values could be anything.
    return column.numeric and column.kind != "category" and column.missing < 1


def _numbers_for_words(file: str, column: ColumnInfo, other: str, there: ColumnInfo) -> str:
    return (
        f"{file} has words such as {_example(column)} in the column {column.name!r}, but {other} "
        f"has numbers such as {_example(there)}. Write them in the same way in both files."
    )


def _example(column: ColumnInfo) -> str:
    return repr(column.values[0][:_LONGEST_VALUE])


def _renamed(name: str, files: list[_File], known: dict[str, ColumnInfo]) -> str | None:
    """Ask whether a column has another name in one of the files that lack it."""
    for file in files:
        # A name that the positives have, too, is not another name of this column.
        others = [other for other in file.columns if other not in known]
        question = ask_about_similar(name, others, _SAME_NAME)
        if question != _SAME_NAME:
            return f"{file.name} has no column {name!r}; {question}"
    return None


def _missing(name: str, files: list[_File]) -> float | None:
    having = [file for file in files if name in file.columns]
    if not having:
        return None
    n_rows = sum(file.rows for file in having)
    return sum(file.columns[name].missing * file.rows for file in having) / max(n_rows, 1)


def _groupings(name: str, files: list[_File], most_groups: int) -> list[Grouping]:
    columns = [file.columns[name] for file in files if name in file.columns]
    if not columns or len(columns) < len(files) or is_taken(name, by_file=len(files) > 1):
        return []
    groupings = []
    n_groups = _n_groups(columns)
    measured = any(column.kind == "number" for column in columns)
    most = min(most_groups, MOST_NUMBERS) if measured else most_groups
    if n_groups is not None and n_groups <= most:
        groupings.append(Grouping(by=name, period=None, groups=n_groups))
    for period in columns[0].periods:
        if all(period in column.periods for column in columns):
            n_groups = sum(column.periods[period] for column in columns)
            if n_groups <= most_groups:
                by = f"{period}({name})"
                groupings.append(Grouping(by=by, period=period, groups=n_groups))
    return groupings


def _no_periods(name: str, files: list[_File]) -> str | None:
    columns = (file.columns[name] for file in files if name in file.columns)
    return next((column.no_periods for column in columns if column.no_periods), None)


def _n_groups(columns: list[ColumnInfo]) -> int | None:
    """Count the groups that values make, if all files have different ones; None for too many."""
    counts = [column.distinct for column in columns if column.distinct is not None]
    if len(counts) < len(columns):
        return None
    return sum(counts) + any(column.missing > 0 for column in columns)
