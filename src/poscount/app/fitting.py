"""From files of positives to a fitted model, and what is in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from poscount import registry
from poscount.app.data_files import DataFiles
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.errors import InputError
from poscount.files.features import choose_features, chosen_columns
from poscount.files.reading import FileRows, join_tables, read_files
from poscount.methods.bootstrap import Bootstrap
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.negatives import RCQWithNegatives
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.scorers.out_of_fold import N_FOLDS

# Methods that are not reusable but score the positives fold by fold, as reusable ones do.
_SCORE_POSITIVES = ("trcq", "minimum")
# Where an interval is made by resampling, these are about that.
_RESAMPLING = ("confidence", "n_jobs", "verbose", "random_state")


class Fitted(NamedTuple):
    """A fitted model, and what is known of its positives.

    Attributes
    ----------
    model : Quantifier
    positives : pyarrow.Table
        The rows of all files.
    left_out : dict of str to str
        Columns that were not used by default, such as dates, and what they hold.
    """

    model: Any
    positives: Any
    left_out: dict[str, str]


def fit(
    positives: Sequence[DataFiles],
    method: str = registry.DEFAULT_METHOD,
    *,
    options: Mapping[str, Any],
    targets: Sequence[str] | None = None,
    target_column: str | None = None,
    negatives: Sequence[DataFiles] = (),
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    weights: str | None = None,
) -> Fitted:
    """Fit a method on files of positives, of one target or of several.

    Parameters
    ----------
    positives : sequence of DataFiles
        One; or one for each target.
    method : str
        Its name in the registry. Several targets, kinds of positives and negatives have classes of
        their own, which stand for RCQ here.
    options : mapping
        Parameters of the method, the scorer by its name; None leaves one at its default. With
        ``bootstrap``, a number of resamples, the interval is that of `Bootstrap`.
    targets : sequence of str, optional
        Names of the targets, one for each of `positives`.
    target_column : str, optional
        The column of the positives that names the target of each row.
    negatives : sequence of DataFiles
        Labelled negatives; each is a kind of its own.
    features, exclude : list of str, optional
        Columns to use, and not to use.
    weights : str, optional
        Column of weights in the files to be counted. Positives have no weights: if they have the
        column, too, it is not used, unless `features` names it.
    """
    several = targets is not None or target_column is not None
    if not several and len(positives) > 1:
        raise InputError(
            f"There are {len(positives)} files of positives: name the target of each.",
            option="targets",
        )
    if targets is not None:
        _check_targets(targets, target_column, len(positives))
    model = _unfitted(method, options, several=several, negatives=bool(negatives))
    parts = [read_files(each.files, read_options=each.read_options) for each in positives]
    read_options = positives[0].read_options
    if several:
        _check_columns(parts, features)
    files = [file for part in parts for file in part.files]
    table = join_tables(files, [part.table for part in parts], read_options).table
    rows = FileRows(table, files, [n for part in parts for n in part.n_rows])
    labelled: dict[str, Any] = {}
    if negatives:
        labelled["negatives"] = _negatives(negatives)
    source = ", ".join(each.name for each in positives)
    not_features = list(exclude or [])
    if target_column is not None:
        chosen_columns(table.column_names, None, [target_column], source)
        not_features.append(target_column)
        labelled["target_column"] = target_column
    if isinstance(model, SubclassRCQ) and model.subclasses in table.column_names:
        not_features.append(str(model.subclasses))
    if weights is not None and weights in set(table.column_names) - set(features or []):
        not_features.append(weights)
    try:
        chosen = choose_features(table, features, not_features, source, read_options)
        learned = table if targets is None else _slices(table, targets, parts)
        model.fit(learned, features=chosen.features, **labelled)
    except InputError as error:
        raise rows.located(error.at(file=error.file or source)) from error
    return Fitted(model, table, chosen.left_out)


def _unfitted(
    method: str, options: Mapping[str, Any], *, several: bool, negatives: bool
) -> Quantifier:
    """The model that a method's name, its options and the kinds of files ask for."""
    given = {name: value for name, value in options.items() if value is not None}
    kind, what = registry.method(method), f"The method {method}"
    if several:
        kind, what = MultiRCQ, "Several targets are counted by regions, as rcq does, which"
    elif method == registry.DEFAULT_METHOD and "subclasses" in given:
        kind = SubclassRCQ
    elif method == registry.DEFAULT_METHOD and negatives:
        kind = RCQWithNegatives
    if several and method != registry.DEFAULT_METHOD:
        raise InputError(
            f"Several targets are counted by regions, as rcq does, not by {method}.",
            option="method",
            leave_out=True,
        )
    if negatives and kind is not RCQWithNegatives:
        reasons = {
            MultiRCQ: "Among several targets, negatives are one more target.",
            SubclassRCQ: "Kinds of positives and labelled negatives cannot be used together: give "
            "each kind as a target of its own, and the negatives as further targets.",
        }
        alone = f"The method {method} learns from positives alone; rcq takes negatives."
        raise InputError(reasons.get(kind, alone), option="negatives", leave_out=True)
    resampling: dict[str, Any] = {}
    if "bootstrap" in given and not several:
        if not issubclass(kind, TransductiveQuantifier):
            raise InputError(
                f"{what} has an interval of its own.", option="bootstrap", leave_out=True
            )
        resampling["n_resamples"] = given.pop("bootstrap")
        resampling |= {name: given.pop(name) for name in _RESAMPLING if name in given}
    known = kind().get_params(deep=False)
    for name in given:
        if name not in known:
            others = "; pat and odin have" if name == "scorer" and not several else ""
            raise InputError(f"{what} has no use for {name}{others}.", option=name, leave_out=True)
    if "scorer" in given:
        given["scorer"] = registry.scorer(given["scorer"])
    model = kind(**given)
    return Bootstrap(model, **resampling) if resampling else model


def _negatives(kinds: Sequence[DataFiles]) -> dict[str, Any]:
    """Tables of kinds of negatives, by the names of their files."""
    tables = {}
    for each in kinds:
        name = each.name if len(kinds) > 1 else "negatives"
        if name in tables:
            raise InputError("these negatives are given twice.", file=each.name, option="negatives")
        tables[name] = read_files(each.files, read_options=each.read_options).table
    return tables


def _slices(table: Any, targets: Sequence[str], parts: Sequence[FileRows]) -> dict[str, Any]:
    """The rows of each target."""
    sizes = [part.table.num_rows for part in parts]
    starts = accumulate(sizes, initial=0)
    return {
        name: table.slice(start, size)
        for name, start, size in zip(targets, starts, sizes, strict=False)
    }


def _check_targets(targets: Sequence[str], target_column: str | None, n_files: int) -> None:
    if target_column is not None:
        raise InputError(
            "Name the target of each file, or the column that names the target of each row, but "
            "not both.",
            option="targets",
        )
    if n_files != len(targets):
        raise InputError(
            f"There are {len(targets)} targets ({', '.join(targets)}) and {n_files} files: each "
            "target needs a file of its positives, in the same order.",
            option="targets",
        )
    for name, times in Counter(targets).items():
        if times > 1:
            raise InputError(
                f"The target {name!r} is there {times} times: give each a name of its own.",
                option="targets",
            )


def _check_columns(parts: Sequence[FileRows], features: list[str] | None) -> None:
    """Refuse files with different columns, unless those to be used are named."""
    first, *rest = parts
    if features is not None:
        for part in parts:
            chosen_columns(part.table.column_names, None, features, part.files[0])
        return
    for part in rest:
        for one, other in ((first, part), (part, first)):
            more = [name for name in one.table.column_names if name not in other.table.column_names]
            if more:
                raise InputError(
                    f"the column is missing here, but {one.files[0]} has it; all files need the "
                    "same columns, unless those to be used are named.",
                    file=other.files[0],
                    column=more[0],
                )


# What is in a model


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


class ModelColumn(NamedTuple):
    """A column of a model, its kind, and what the model does with it, in a few words."""

    name: str
    kind: str
    done: str


def describe_columns(model: Quantifier) -> list[ModelColumn]:
    """List the columns of a fitted model, in its order.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import load_example
    >>> model = PAT(random_state=0).fit(load_example("pyarrow").positives)
    >>> describe_columns(model)[0]
    ModelColumn(name='wingbeat_hz', kind='number', done='used as a number')
    """
    if not hasattr(model, "columns_"):
        # The scorer takes tables as they are.
        return [ModelColumn(name, "any", "left to the scorer") for name in model.feature_names]
    projected = " and projected" if hasattr(model, "projection_") else ""
    return [
        ModelColumn(column.name, column.kind, column.use + projected) for column in model.columns_
    ]


def describe_targets(model: MultiRCQ) -> dict[str, int]:
    """Names of the targets of a fitted model, and how many positives each has learned from."""
    sizes = dict(zip(model.groups_.names_, model.groups_.sizes_.tolist(), strict=True))
    return {name: sizes[name] for name in model.targets_}
