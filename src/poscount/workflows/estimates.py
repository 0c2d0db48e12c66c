"""From files to fitted models, counts and prevalences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from poscount import registry
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.counts.counts import Counts, GroupedCounts
from poscount.engines.dispatch import count_listed
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import choose_features
from poscount.files.reading import expand, read_files
from poscount.files.sampling import read_rows
from poscount.methods.bootstrap import Bootstrap
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.negatives import RCQWithNegatives
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.results.prevalence import Prevalence
from poscount.results.target_shares import TargetShares
from poscount.scorers.out_of_fold import N_FOLDS
from poscount.workflows.results import RESERVED, TARGET, Result

# Called with a title for all that is counted in one go; gives a context with a progress function
# or None in it.
Watch = Callable[[str], AbstractContextManager[OnProgress | None]]

COUNTS_SUFFIX = ".counts"
# Methods that are not reusable but score the positives fold by fold, as reusable ones do.
_SCORE_POSITIVES = ("trcq", "minimum")


def unwatched(title: str) -> AbstractContextManager[None]:
    """Show no progress."""
    return nullcontext()


def _untold(left_out: dict[str, str]) -> None:
    pass


def _not_kept(table: Any) -> None:
    pass


class _Counting(NamedTuple):
    """How files are counted, for which groups, and who watches."""

    by: Sequence[str]
    weights: str | None
    engine: str
    on_error: str
    n_jobs: int
    csv_format: CsvFormat
    watch: Watch


def is_reusable(method: type[Quantifier] | Quantifier) -> bool:
    """Tell whether a model is fitted once and counts rows, so that it can be used on other data."""
    kind = method if isinstance(method, type) else type(method)
    return issubclass(kind, CountingQuantifier)


def fewest_positives(method: str) -> int:
    """Tell how many positives a method of the registry needs.

    Examples
    --------
    >>> fewest_positives("rcq"), fewest_positives("dedpul")
    (10, 1)
    """
    in_folds = is_reusable(registry.method(method)) or method in _SCORE_POSITIVES
    return N_FOLDS if in_folds else 1


def fit(
    path: str,
    method: str,
    *,
    options: Mapping[str, Any],
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    weights: str | None = None,
    negatives: Sequence[str] = (),
    csv_format: CsvFormat = DEFAULT_CSV,
    tell_left_out: Callable[[dict[str, str]], None] = _untold,
    keep_rows: Callable[[Any], None] = _not_kept,
) -> Quantifier:
    """Fit a method on a file of positives.

    Parameters
    ----------
    path : str
        A file, glob or directory.
    method : str
        Its name in the registry.
    options : mapping
        Parameters of the method, the scorer by its name; None leaves one at its default.
    features, exclude : list of str, optional
        Columns to use, and not to use.
    weights : str, optional
        Column of weights in the files to be counted. Positives have no weights: if they have the
        column, too, it is not used, unless `features` names it.
    negatives : sequence of str
        Files of labelled negatives, if there are any, for methods that take them. Each file is a
        kind of its own, named as the file.
    csv_format : CsvFormat
        How CSV files are written.
    tell_left_out : callable
        Called with the columns that are not used by default, such as dates, and what they hold.
    keep_rows : callable
        Called with the table of positives, for whoever would otherwise have to read it again.
    """
    model = _unfitted(method, options, negatives=bool(negatives))
    rows = read_files(expand([path]), csv_format=csv_format)
    keep_rows(rows.table)
    left_out = list(exclude or [])
    if isinstance(model, SubclassRCQ) and model.subclasses in rows.table.column_names:
        # It names kinds and is no feature.
        left_out.append(str(model.subclasses))
    if weights is not None and weights in set(rows.table.column_names) - set(features or []):
        left_out.append(weights)
    try:
        chosen = choose_features(rows.table, features, left_out, path, csv_format)
        if chosen.left_out:
            tell_left_out(chosen.left_out)
        known = _negatives(negatives, csv_format)
        more = {"negatives": known} if known else {}
        return model.fit(rows.table, features=chosen.features, **more)
    except InputError as error:
        raise rows.located(error.at(file=path)) from error


def _unfitted(method: str, options: Mapping[str, Any], *, negatives: bool) -> Quantifier:
    """The model that a method's name, its options and labelled negatives ask for."""
    parameters = {name: value for name, value in options.items() if value is not None}
    resampling: dict[str, Any] = {}
    if "bootstrap" in parameters:
        resampling["n_resamples"] = parameters.pop("bootstrap")
        for name in ("confidence", "n_jobs", "verbose"):
            if name in parameters:
                resampling[name] = parameters.pop(name)
    kind = registry.method(method)
    of_kinds = "subclasses" in parameters
    if method == registry.DEFAULT_METHOD and (of_kinds or negatives):
        if of_kinds and negatives:
            raise InputError(
                "Kinds of positives and labelled negatives cannot be used together: give each kind "
                "as a target of its own, and the negatives as further targets.",
                option="subclasses",
                leave_out=True,
            )
        kind = SubclassRCQ if of_kinds else RCQWithNegatives
    elif negatives:
        raise InputError(
            f"The method {method} learns from positives alone; rcq takes negatives.",
            option="negatives",
            leave_out=True,
        )
    known = kind().get_params(deep=False)
    for name in parameters:
        if name not in known:
            others = "; pat and odin have" if name == "scorer" else ""
            raise InputError(
                f"The method {method} has no use for {name}{others}.", option=name, leave_out=True
            )
    if "scorer" in parameters:
        parameters["scorer"] = registry.scorer(parameters["scorer"])
    if not resampling:
        return kind(**parameters)
    seed = parameters.pop("random_state", None)
    return Bootstrap(kind(**parameters), **resampling, random_state=seed)


def _negatives(paths: Sequence[str], csv_format: CsvFormat) -> dict[str, Any]:
    """Tables of kinds of negatives, by the names of their files."""
    tables = {}
    for path in paths:
        name = path if len(paths) > 1 else "negatives"
        if name in tables:
            raise InputError("these negatives are given twice.", file=path, option="negatives")
        tables[name] = read_files(expand([path]), csv_format=csv_format).table
    return tables


def quantify(
    model: Quantifier,
    paths: Sequence[str],
    *,
    by: Sequence[str] = (),
    by_file: bool = False,
    weights: str | None = None,
    engine: str = "auto",
    on_error: str = "raise",
    n_jobs: int = -1,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> list[Result]:
    """Estimate prevalences: of everything together, of each file, of each group.

    With several targets (`MultiRCQ`) there is a result for each of them, and for "other", whose
    group says which one it is under "target", and whose `target` does.

    Parameters
    ----------
    model : Quantifier
    paths : sequence of str
        Files of rows, globs, directories or counts files.
    by : sequence of str
        Columns whose values make the groups.
    by_file : bool
        Whether each file is a sample of its own.
    weights : str, optional
        Column with the weight of each row; counts files keep the weights that they were made with.
    engine, on_error, n_jobs
        As in `poscount.engines.count`.
    csv_format : CsvFormat
        How CSV files are written.
    watch : callable
        Called with a title for all that is counted in one go; gives a context with a progress
        function or None in it.
    """
    several = isinstance(model, MultiRCQ)
    for name in by:
        if name in RESERVED or (by_file and name == "file") or (several and name == TARGET):
            raise InputError(
                "the result has a column of this name: rename yours, or group by another.",
                column=name,
                option="by",
            )
    files = expand(paths)
    counted = {file for file in files if file.endswith(COUNTS_SUFFIX)}
    if by and counted:
        raise _without_groups(counted)
    _require_rows_to_weigh(files, counted, weights)
    counting = _Counting(by, weights, engine, on_error, n_jobs, csv_format, watch)
    parts = [([file], {"file": file}) for file in files] if by_file else [(files, {})]
    return [
        result
        for part, group in parts
        for key, answer in _answers(model, part, counted, counting)
        for result in _results(group | dict(zip(by, key, strict=True)), answer)
    ]


def _results(group: dict[str, Any], answer: Prevalence | TargetShares) -> list[Result]:
    """The result for a group; one for each target if there are several."""
    if not isinstance(answer, TargetShares):
        return [Result(group, answer)]
    return [Result({**group, TARGET: name}, share) for name, share in answer.items()]


def count(
    model: Quantifier,
    paths: Sequence[str],
    *,
    weights: str | None = None,
    n_jobs: int = -1,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> Counts:
    """Count files of rows and counts files together; the parameters are those of `quantify`."""
    files = expand(paths)
    counted = {file for file in files if file.endswith(COUNTS_SUFFIX)}
    _require_rows_to_weigh(files, counted, weights)
    counting = _Counting((), weights, "auto", "raise", n_jobs, csv_format, watch)
    return _counts(model, files, counted, counting)


def count_groups(
    model: Quantifier,
    paths: Sequence[str],
    by: Sequence[str],
    *,
    weights: str | None = None,
    engine: str = "auto",
    on_error: str = "raise",
    n_jobs: int = -1,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> GroupedCounts:
    """Count files of rows by group; the parameters are those of `quantify`."""
    files = expand(paths)
    if counted := [file for file in files if file.endswith(COUNTS_SUFFIX)]:
        raise _without_groups(counted)
    counting = _Counting(by, weights, engine, on_error, n_jobs, csv_format, watch)
    return _counts(model, files, (), counting)


def merge(paths: Sequence[str]) -> Counts:
    """Add the counts of counts files."""
    return _sum([(path, Counts.load(path)) for path in paths])


def _without_groups(counted: Collection[str]) -> InputError:
    return InputError(
        "a counts file has no groups; give the rows instead.",
        file=min(counted),
        option="by",
        leave_out=True,
    )


def _require_rows_to_weigh(
    files: Sequence[str], counted: Collection[str], weights: str | None
) -> None:
    if weights is not None and len(counted) == len(files):
        raise InputError(
            "a counts file has no rows that could be weighted; count the rows with their weights.",
            file=files[0],
            option="weights",
            leave_out=True,
        )


def _answers(
    model: Quantifier, files: list[str], counted: Collection[str], counting: _Counting
) -> list[tuple[tuple, Prevalence | TargetShares]]:
    """Values of the grouping columns, and the answer, of every group of some files."""
    by = counting.by
    if isinstance(model, CountingQuantifier):
        counts = _counts(model, files, counted, counting)
        if by:
            return list(zip(counts.keys, model.estimate_by(counts), strict=True))
        try:
            return [((), model.estimate(counts))]
        except InputError as error:
            raise error.at(file=files[0] if len(files) == 1 else None) from error
    for option, default in (("engine", "auto"), ("on_error", "raise")):
        if getattr(counting, option) != default:
            raise InputError(
                f"{type(model).__name__} needs all rows in memory at once; a reusable method such "
                "as PAT does not.",
                option=option,
                leave_out=True,
            )
    rows = read_rows(model, files, by=by, csv_format=counting.csv_format)
    if by:
        return list(model.quantify_groups(rows.table, by, weights=counting.weights).items())
    try:
        return [((), model.quantify(rows.table, weights=counting.weights))]
    except InputError as error:
        raise rows.located(error) from error


def _counts(
    model: Quantifier, files: list[str], counted: Collection[str], counting: _Counting
) -> Any:
    if not isinstance(model, CountingQuantifier):
        raise InputError(
            f"{type(model).__name__} needs the positives and the sample together and cannot count: "
            "use a reusable method such as PAT."
        )
    parts: list[tuple[str, Any]] = [(file, Counts.load(file)) for file in files if file in counted]
    data = [file for file in files if file not in counted]
    if data:
        more = f" and {len(data) - 1} more" if len(data) > 1 else ""
        with counting.watch(f"{data[0]}{more}") as progress:
            counts = count_listed(
                model,
                data,
                counting.by,
                weights=counting.weights,
                engine=counting.engine,
                on_error=counting.on_error,
                n_jobs=counting.n_jobs,
                csv_format=counting.csv_format,
                progress=progress,
            )
        parts.append((data[0], counts))
    return _sum(parts)


def _sum(parts: Sequence[tuple[str, Any]]) -> Any:
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
