"""From files of positives to a fitted model, and what is in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from sklearn.base import clone

from poscount import registry
from poscount.app.data_files import DataFiles
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.calibration.files import read_calibration
from poscount.data.categories import DATES
from poscount.data.give_aways import give_aways
from poscount.data.grouping import group_columns
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError
from poscount.files.features import choose_features, chosen_columns
from poscount.files.reading import FileRows
from poscount.methods.bootstrap import Bootstrap
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.regions.learned_score import LearnedScore
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.negatives import RCQWithNegatives
from poscount.methods.regions.quantifier import ReferenceQuantifier
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.seeds import seed_of

# Unlabeled rows that a model is given to learn from: more than it uses, because some may be equal.
MOST_REFERENCE_ROWS = 20_000
# Where an interval is made by resampling, these are about that.
_RESAMPLING = ("n_resamples", "confidence", "n_jobs", "verbose", "random_state")


class Fitted(NamedTuple):
    """A fitted model, and what is known of its positives.

    Attributes
    ----------
    model : Quantifier
    positives : pyarrow.Table
        The rows of all files.
    left_out : dict of str to str
        Columns that were not used by default, such as dates, and what they hold.
    of_groups : dict of str to str
        Columns that were not used because rows are grouped by them, or because they give the group
        of a row away, and which of the two.
    why_positives_only : str, optional
        Why the model did not learn from the sample, too, as it does by default; a clause.
    """

    model: Any
    positives: Any
    left_out: dict[str, str]
    of_groups: dict[str, str]
    why_positives_only: str | None = None


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
    unlabeled: DataFiles | None = None,
    sample: DataFiles | None = None,
    by: Sequence[str] = (),
    positives_only: bool = False,
) -> Fitted:
    """Fit a method on files of positives, of one target or of several.

    RCQ, with kinds of positives or without, also learns from unlabeled rows, drawn at random by its
    seed: from `unlabeled`, or from the `sample`, which can be counted afterwards.

    Parameters
    ----------
    positives : sequence of DataFiles
        One; or one for each target.
    method : str
        Its name in the registry. Several targets, kinds of positives and negatives have classes of
        their own, which stand for RCQ here.
    options : mapping
        Parameters of the method, the scorer by its name, and of `Bootstrap` if ``n_resamples`` is
        among them; None leaves one at its default.
    targets : sequence of str, optional
        Names of the targets, one for each of `positives`.
    target_column : str, optional
        The column of the positives that names the target of each row.
    negatives : sequence of DataFiles
        Labelled negatives; each is a kind of its own.
    features, exclude : list of str, optional
        Columns to use, and not to use.
    unlabeled : DataFiles, optional
        Unlabeled rows to learn from; only for models that learn from such rows.
    sample : DataFiles, optional
        What is to be counted; also learned from if it can be read twice. Positives have no
        weights: if they have its column of weights, too, that is not used, unless `features` names
        it.
    by : sequence of str
        What the rows of the sample will be grouped by. These columns are no features, even if
        `features` names them, and neither are columns that give the group of a row away.
    positives_only : bool
        Whether to learn nothing from the sample; only for models that would.
    """
    several = targets is not None or target_column is not None
    if not several and len(positives) > 1:
        if unlabeled is not None:
            raise InputError(
                f"There are {len(positives)} files of positives: if the later ones are of "
                "unlabeled rows, the option goes before each of them.",
                option="unlabeled",
                value=positives[1].name,
            )
        raise InputError(
            f"There are {len(positives)} files of positives: name the target of each.",
            option="targets",
        )
    if targets is not None:
        _check_targets(targets, target_column, len(positives))
    model = _unfitted(method, options, several=several, negatives=bool(negatives))
    why_not = None
    if not isinstance(model, ReferenceQuantifier):
        if unlabeled is not None or positives_only:
            raise _no_use_of_unlabeled(
                model, method, "unlabeled" if unlabeled else "positives_only"
            )
    elif sample is not None and not positives_only:
        why_not = sample.why_not_again or _made_for_positives(model.calibration)
        unlabeled = sample if why_not is None else None
    parts = [each.rows() for each in positives]
    read_options = positives[0].read_options
    if several:
        _check_columns(parts, features)
    rows = FileRows.joined(parts, read_options)
    table = rows.table
    labelled: dict[str, Any] = {}
    if negatives:
        labelled["negatives"] = _negatives(negatives)
    source = ", ".join(dict.fromkeys(each.name for each in positives))
    not_features = list(exclude or [])
    if target_column is not None:
        chosen_columns(table.column_names, None, [target_column], source)
        not_features.append(target_column)
        labelled["target_column"] = target_column
    if isinstance(model, SubclassRCQ) and model.subclasses in table.column_names:
        not_features.append(str(model.subclasses))
    weights = sample.weights if sample else None
    if weights is not None and weights in set(table.column_names) - set(features or []):
        not_features.append(weights)
    try:
        chosen = choose_features(table, features, not_features, source, read_options)
    except InputError as error:
        raise rows.located(error.at(file=error.file or source)) from error
    grouping = group_columns(by, table.column_names)
    used = [name for name in chosen.features if name not in grouping]
    of_groups = {name: "makes the groups" for name in chosen.features if name in grouping}
    drawn_from = unlabeled
    if by and sample is not None and sample.why_not_again is None:
        drawn_from = sample
    if drawn_from is not None:
        # The rows are drawn by the seed that the model keeps.
        model.random_state = seed_of(model.random_state)
        drawn = _drawn(drawn_from, table, used, by, model.random_state)
        if unlabeled is not None:
            labelled["unlabeled"] = drawn
        found = give_aways(as_frame_with_names(drawn), used, tuple(by)) if by else []
        if len(found) < len(used):
            of_groups |= dict.fromkeys(found, "has one value in each group")
            used = [name for name in used if name not in found]
    learned = table if targets is None else _slices(table, targets, parts)
    try:
        model.fit(learned, features=used, **labelled)
    except InputError as error:
        if unlabeled is not None:
            _check_unlabeled(unlabeled, model, table, used, error)
        raise rows.located(error.at(file=error.file or source)) from error
    return Fitted(model, table, chosen.left_out, of_groups, why_not)


def _unfitted(
    method: str, options: Mapping[str, Any], *, several: bool, negatives: bool
) -> Quantifier:
    """The model that a method's name, its options and the kinds of files ask for."""
    given = {name: value for name, value in options.items() if value is not None}
    kind, what = registry.method(method), f"The method {method}"
    if several:
        kind, what = MultiRCQ, "A model of several targets"
    elif method == registry.DEFAULT_METHOD and "subclasses" in given:
        kind, what = SubclassRCQ, f"{what} with kinds of positives"
    elif method == registry.DEFAULT_METHOD and negatives:
        kind, what = RCQWithNegatives, f"{what} with labelled negatives"
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
    resampling = {}
    if "n_resamples" in given and not several:
        if has_interval(kind):
            raise InputError(
                f"{what} has an interval of its own.", option="n_resamples", leave_out=True
            )
        resampling = {name: given.pop(name) for name in _RESAMPLING if name in given}
    known = kind().get_params(deep=False)
    for name in given:
        if name not in known:
            others = "; pat and odin have" if name == "scorer" and not several else ""
            raise InputError(f"{what} has no use for {name}{others}.", option=name, leave_out=True)
    if "scorer" in given:
        given["scorer"] = registry.scorer(given["scorer"])
    model = kind(**given)
    return Bootstrap(model, **resampling) if resampling else model


def _no_use_of_unlabeled(model: Quantifier, method: str, option: str) -> InputError:
    kinds = {
        MultiRCQ: "Models of several targets",
        RCQWithNegatives: "Models with labelled negatives",
    }
    message = f"The method {method} does not learn from unlabeled rows when it is fitted; rcq does."
    if type(model) in kinds:
        message = f"{kinds[type(model)]} do not learn from unlabeled rows yet."
    return InputError(message, option=option, leave_out=True)


def _made_for_positives(calibration: Any) -> str | None:
    """Say that a calibration of the user's own is for RCQ without unlabeled rows, if it is."""
    shipped = calibration in ("experience", "null")
    if shipped or read_calibration(calibration).method_ != "RCQ":
        return None
    return f"{calibration} was made without unlabeled rows"


def _drawn(
    unlabeled: DataFiles,
    positives: Any,
    features: Sequence[str],
    by: Sequence[str],
    seed: int,
) -> Any:
    """Some of the unlabeled rows, whose features hold numbers where those of the positives do."""
    kinds = as_frame_with_names(positives).schema
    numeric = [name for name in features if kinds[name].is_numeric() or kinds[name] in DATES]
    drawn = unlabeled.sample(features, numeric, MOST_REFERENCE_ROWS, by=by, seed=seed)
    if drawn.n_rows == 0:
        raise InputError("there are no rows: at least one is needed.", file=unlabeled.name)
    return drawn.table


def _check_unlabeled(
    unlabeled: DataFiles,
    model: Quantifier,
    positives: Any,
    features: Sequence[str],
    error: InputError,
) -> None:
    """Raise an error of the unlabeled rows, with its place, unless it is one of the positives."""
    try:
        alone = clone(model).fit(positives, features=features)
    except InputError:
        return
    if unlabeled.why_not_again is None:
        unlabeled.count(alone)
    raise InputError(error.message, file=unlabeled.name, column=error.column) from error


def _negatives(kinds: Sequence[DataFiles]) -> dict[str, Any]:
    """Tables of kinds of negatives, by the names of their files."""
    tables = {}
    for each in kinds:
        name = each.group if len(kinds) > 1 else "negatives"
        if name in tables:
            raise InputError("these negatives are given twice.", file=each.name, option="negatives")
        tables[name] = each.rows().table
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


def has_interval(kind: type[Quantifier]) -> bool:
    """Tell whether a method gives intervals by itself; the others get one from `Bootstrap`."""
    return not issubclass(kind, TransductiveQuantifier) or "confidence" in kind().get_params()


def learned_score(model: Quantifier) -> LearnedScore | None:
    """The score that a model has learned from unlabeled rows, too, or None if there were none."""
    return getattr(getattr(model, "part_", None), "learned_score_", None)


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
