"""How the columns of all files of a session match, and what can be done with each of them.

The positives decide what a column is. Whatever is wrong is said here, before anything is estimated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from poscount.app.results import RESERVED
from poscount.errors import InputError, join_names, similar_name
from poscount.files.read_options import ColumnDescription
from poscount.web.refusals import RefusedError, fixes_of, refusal_of
from poscount.web.schemas import ColumnMatch, Fix, Grouping
from poscount.web.tasks import CheckTask, Upload

_LONGEST_VALUE = 30
# A file with more names of its own is another table, and every two names would be compared.
_MOST_RENAMED = 50
MOST_TARGETS = 20
# A column of numbers with more different ones is a measurement, and makes no groups.
MOST_NUMBERS = 60


class _Use(NamedTuple):
    """Whether a column of the positives can be used, and what is wrong with it."""

    usable: bool
    why_not: str | None = None
    problem: str | None = None
    fixes: Sequence[Fix] = ()


def match_columns(
    positives: Upload | None, unlabeled: Sequence[Upload], most_groups: int
) -> list[ColumnMatch]:
    """Describe all columns of a session: those of the positives, then those of the other files.

    Parameters
    ----------
    positives : Upload, optional
    unlabeled : sequence of Upload
    most_groups : int
        Values of a column that make more groups than these are not offered as groups.
    """
    known = _by_name(positives) if positives else {}
    files = [(file, _by_name(file)) for file in unlabeled]
    names = dict.fromkeys([*known, *(name for _, columns in files for name in columns)])
    # A name that the positives have, too, is not another name of a column.
    own = {file.id: [name for name in columns if name not in known] for file, columns in files}
    renamed = {file: names for file, names in own.items() if len(names) <= _MOST_RENAMED}
    matches = []
    for name in names:
        having = [(file, columns[name]) for file, columns in files if name in columns]
        others = [column for _, column in having]
        column = known.get(name)
        shown = column or others[0]
        use = _Use(False, f"is missing in {positives.label}" if positives else None)
        if positives and column:
            lacking = [file for file, columns in files if name not in columns]
            if lacking:
                use = _lacking(positives, column, lacking, renamed)
            else:
                use = _use(positives, column, having)
            if column.missing == 1:
                use = use._replace(why_not="has no values")
            if column.kind not in ("number", "category") and not lacking:
                # Nobody is asked to fix a column that is not used.
                use = use._replace(problem=None)
        groupings = []
        if len(having) == len(files) and not is_taken(name, by_file=len(files) > 1):
            groupings = _groupings(name, others, most_groups)
        no_periods = next(
            (_said(file, other.no_periods) for file, other in having if other.no_periods), None
        )
        described = [(positives, column)] if positives and column else []
        fixes = _fixes([*described, *having])[:1] if use.problem or no_periods else []
        match = ColumnMatch(
            name=name,
            kind=shown.kind,
            distinct=shown.distinct,
            missing=column.missing if column else None,
            missing_unlabeled=_missing(having),
            usable=use.usable,
            use=use.usable and use.why_not is None and use.problem is None,
            targets=_targets(column) if column else None,
            groupings=groupings,
            why_not=use.why_not,
            problem=use.problem,
            no_periods=no_periods,
            fixes=fixes or list(use.fixes),
        )
        matches.append(match)
    return matches


def check_estimate(task: CheckTask) -> None:
    """Refuse an estimate whose columns do not exist or cannot be used as it wants."""
    found = json.loads(Path(task.matches).read_bytes())["columns"]
    matches = {each["name"]: ColumnMatch.model_validate(each) for each in found}
    estimate, wanted, positives = task.estimate, task.estimate.wanted, task.estimate.positives
    most_groups = estimate.most_groups
    if wanted.label is not None and wanted.label not in matches:
        raise RefusedError(422, f"There is no column {wanted.label!r} here.", "label")
    features = wanted.features
    if features is None:
        # If there is no default, the estimate says which columns are doubtful.
        features = [name for name in positives.default_features or () if name != wanted.label]
    for name in features:
        # Only columns of the positives say which part of them is missing.
        if name not in matches or matches[name].missing is None or name == wanted.label:
            raise RefusedError(422, f"{positives.name} has no column {name!r}.", "features")
        match = matches[name]
        if not match.usable:
            sentence = match.problem or f"The column {name!r} {match.why_not}."
            raise RefusedError(422, sentence, "features")
    target = wanted.target_column
    if target is not None and (target not in matches or matches[target].targets is None):
        sentence = f"The column {target!r} of {positives.name} cannot name targets."
        raise RefusedError(422, sentence, "features")
    groups = {way.by: way.groups for match in matches.values() for way in match.groupings}
    n_groups = 1
    for by in wanted.by:
        if by not in groups or is_taken(by, wanted.by_file):
            sentence = why_no_group(estimate.unlabeled, by, wanted.by_file, most_groups)
            raise RefusedError(422, sentence, "by")
        n_groups *= groups[by]
    if n_groups > most_groups:
        raise RefusedError(422, too_many_groups(wanted.by, most_groups), "by")


def why_no_group(unlabeled: Sequence[Upload], by: str, by_file: bool, most_groups: int) -> str:
    """Say why a column, or what else an estimate was to be grouped by, makes no groups."""
    if is_taken(by, by_file):
        return f"{by}: the result has a column of this name: rename yours, or choose another."
    if all(by in _by_name(file) for file in unlabeled):
        return too_many_groups([by], most_groups)
    return f"Not every unlabeled file has a column {by!r} that makes groups."


def is_taken(name: str, by_file: bool) -> bool:
    """Tell whether the result has a column of this name, so that no group can have it."""
    return name in RESERVED or (name == "file" and by_file)


def too_many_groups(by: Sequence[str], most_groups: int) -> str:
    """Say that some columns make too many groups."""
    return (
        f"{', '.join(by)}: this makes more than {most_groups:,} groups; choose a column with fewer "
        "values."
    )


def _by_name(file: Upload) -> dict[str, ColumnDescription]:
    return {column.name: column for column in file.columns}


def _use(
    positives: Upload, column: ColumnDescription, having: Sequence[tuple[Upload, ColumnDescription]]
) -> _Use:
    """Say whether a column can be used by what it holds, here and in the other files."""
    if column.problem or column.kind in ("date", "other"):
        return _Use(False, column.why_not_used, _said(positives, column.problem))
    for file, other in having:
        if column.kind == "category":
            # Booleans are numbers to pyarrow, and a column without values could be anything.
            numbers = other.numeric and other.kind != "category" and other.missing < 1
            if numbers and not column.numeric:
                problem = (
                    f"{positives.label} has words such as {_example(column)} in the column "
                    f"{column.name!r}, but {file.label} has numbers such as {_example(other)}. "
                    "Write them in the same way in both files."
                )
                return _Use(True, column.why_not_used, problem)
        elif column.numeric and other.problem is not None:
            return _Use(False, column.why_not_used, _said(file, other.problem))
    return _Use(True, column.why_not_used)


def _said(file: Upload, error: InputError | None) -> str | None:
    return refusal_of(error, [file]).message if error else None


def _fixes(described: Sequence[tuple[Upload, ColumnDescription]]) -> list[Fix]:
    """The buttons for what is wrong with a column in any of the files."""
    return [
        Fix(**fix, role=file.role)
        for file, column in described
        for error in (column.problem, column.no_periods)
        if error
        for fix in fixes_of(error)
    ]


def _example(column: ColumnDescription) -> str:
    return repr(column.values[0][:_LONGEST_VALUE])


def _lacking(
    positives: Upload,
    column: ColumnDescription,
    files: Sequence[Upload],
    renamed: Mapping[str, Sequence[str]],
) -> _Use:
    """Name the files that lack a column, and ask whether it has another name in one of them.

    `renamed` has, for the identifier of each file, the names that only this file has.
    """
    problem, fixes = _said(positives, column.problem), []
    for file in files:
        other = similar_name(column.name, renamed.get(file.id, []))
        if other is None:
            continue
        problem = problem or f"{file.label} has no column {column.name!r}; is it {other!r} there?"
        fix = Fix(
            label=f"Yes, it is {other!r}",
            setting="rename",
            value=f"{other}={column.name}",
            role=file.role,
        )
        fixes.append(fix)
    missing = f"is missing in {join_names(file.label for file in files)}"
    return _Use(False, missing, problem, fixes[:1])


def _targets(column: ColumnDescription) -> int | None:
    """Number of targets that a column of the positives can name."""
    if column.kind != "category" or column.missing or column.distinct is None:
        return None
    return column.distinct if 2 <= column.distinct <= MOST_TARGETS else None


def _missing(having: Sequence[tuple[Upload, ColumnDescription]]) -> float | None:
    if not having:
        return None
    n_rows = sum(file.rows for file, _ in having)
    return sum(column.missing * file.rows for file, column in having) / max(n_rows, 1)


def _groupings(name: str, columns: Sequence[ColumnDescription], most_groups: int) -> list[Grouping]:
    """Offer groups by value and by period; the files count as if all had different ones."""
    if not columns:
        return []
    groupings = []
    counts = [column.distinct for column in columns if column.distinct is not None]
    measured = any(column.kind == "number" for column in columns)
    most = min(most_groups, MOST_NUMBERS) if measured else most_groups
    n_groups = sum(counts) + any(column.missing > 0 for column in columns)
    if len(counts) == len(columns) and n_groups <= most:
        groupings.append(Grouping(by=name, period=None, groups=n_groups))
    for period, _ in columns[0].periods:
        n_groups = sum(dict(column.periods).get(period, most_groups + 1) for column in columns)
        if n_groups <= most_groups:
            groupings.append(Grouping(by=f"{period}({name})", period=period, groups=n_groups))
    return groupings
