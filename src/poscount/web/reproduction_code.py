"""The code that gives the same answer without the page: commands, and Python."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from poscount import registry
from poscount.app.fitting import MOST_REFERENCE_ROWS
from poscount.files.read_options import ReadOptions
from poscount.web.tasks import EstimateTask, Upload

_MODEL = "model.poscount"


def command(
    task: EstimateTask, features: Sequence[str] | None, reusable: bool, with_reference: bool
) -> str:
    """Write the commands; `features` is None where the command line would choose the same."""
    in_lists = [*(features or ()), *task.by]
    for written in (task.positives_format, task.read_options):
        in_lists += [*written.na, *(column for column, _ in written.units)]
    if any("," in name or name != name.strip() for name in in_lists):
        return (
            "# A column name has a comma in it, or a space at one of its ends: the command line "
            "cannot\n# be given such a name. Use Python."
        )
    labelled = task.wanted.label is not None
    together = with_reference or not reusable or labelled or bool(task.negatives)
    differ = task.positives_format._replace(sheet=None) != task.read_options._replace(sheet=None)
    # Where files end in different ways, the command finds it out as the page does.
    ends_said = task.read_options.footers and any("footer" in file.settings for file in task.files)
    if (together and differ) or ends_said:
        return (
            "# The files are not all written alike, and this command reads them in one way. Use "
            "Python."
        )
    positives = _file_name(task.positives)
    unlabeled = [_file_name(file) for file in task.unlabeled if not labelled]
    csv_options = _csv_options(task.read_options)
    options = [] if task.method == registry.DEFAULT_METHOD else [f"--method {task.method}"]
    if task.wanted.target_column is not None:
        options.append(f"--target-column {shlex.quote(task.wanted.target_column)}")
    if task.wanted.label is not None:
        options.append(f"--label {shlex.quote(task.wanted.label)}")
        options += [f"--positive {shlex.quote(value)}" for value in task.wanted.positive]
        options += [f"--negative {shlex.quote(value)}" for value in task.wanted.negative]
    options += [f"--negatives {_file_name(file)}" for file in task.negatives]
    if features is not None:
        options.append(f"--features {shlex.quote(','.join(features))}")
    for name, value in task.options.items():
        if value is not None:
            flag = {"n_resamples": "bootstrap"}.get(name, name.replace("_", "-"))
            shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            options.append(f"--{flag} {shown}")
    groups = [f"--by {shlex.quote(','.join(task.by))}"] if task.by else []
    groups += ["--by-file"] if task.wanted.by_file else []
    groups += ["--drop-positives"] if task.wanted.drop_known else []
    if not reusable or labelled or task.negatives:
        words = ["poscount estimate", positives, *unlabeled, *options, *groups, *csv_options]
        return " ".join(words)
    positives_options = _csv_options(task.positives_format)
    if with_reference:
        options += [f"--unlabeled {name}" for name in unlabeled]
    fit = ["poscount fit", positives, f"-o {_MODEL}", *options, *positives_options]
    quantify = [f"poscount quantify {_MODEL}", *unlabeled, *groups, *csv_options]
    return f"{' '.join(fit)}\n{' '.join(quantify)}"


def python(
    task: EstimateTask, features: Sequence[str] | None, class_name: str, with_reference: bool
) -> str:
    """Write the same in Python."""
    names_of = {file.path: file.name for file in task.files}
    footers = tuple((names_of[path], n) for path, n in task.read_options.footers)
    unusual = _unusual(task.read_options._replace(footers=footers))
    of_positives = unusual
    if task.positives_format != task.read_options:
        of_positives = _unusual(task.positives_format)
    read_options = ", read_options=read_options" if unusual else ""
    positives_format = read_options
    if of_positives != unusual:
        positives_format = ", read_options=positives_format" if of_positives else ""
    options = {name: value for name, value in task.options.items() if value is not None}
    imported = [class_name]
    parameters = [f"{name}={value!r}" for name, value in options.items()]
    made = f"{class_name}({', '.join(parameters)})"
    if "n_resamples" in options:
        made = f"Bootstrap({class_name}(), {', '.join(parameters)})"
        imported.append("Bootstrap")
    chosen = "" if features is None else f", features={list(features)!r}"
    if task.wanted.target_column is not None:
        chosen = f", target_column={task.wanted.target_column!r}{chosen}"
    names = [file.name for file in task.unlabeled]
    if task.read_options.day_first is not None and task.by:
        # A table does not know how its dates are written: the groups are made as it is read.
        reading_options = f", by={list(task.by)!r}{read_options}"
    else:
        reading_options = read_options
    by_file = task.wanted.by_file
    together = with_reference or not by_file or bool(task.negatives)
    if len(names) == 1:
        reading = [f"sample = read_table({names[0]!r}{reading_options})"]
    else:
        reading = [f"sample = read_files({names!r}{reading_options}).table"]
    labelled = task.wanted.label is not None
    drawn = with_reference and sum(file.rows for file in task.unlabeled) > MOST_REFERENCE_ROWS
    if drawn:
        reading += [
            f"drawn = RowSample({MOST_REFERENCE_ROWS}, seed={task.wanted.random_state})",
            "for batch in sample.to_batches():",
            "    drawn.add(batch)",
        ]
    wanted = task.wanted
    if wanted.label is not None:
        known = [f"label={wanted.label!r}"]
        known += [f"positive={wanted.positive!r}"] if wanted.positive else []
        known += [f"negative={wanted.negative!r}"] if wanted.negative else []
        reading = [
            *(line.replace("sample =", "table =", 1) for line in reading),
            f"parts = split(table, {', '.join(known)})",
            "positives, sample = parts.positives, parts.unlabeled",
        ]
        imported.append("split")
        chosen = f", negatives=parts.negatives{chosen}" if wanted.negative else chosen
    elif task.negatives:
        of_negatives = [file.name for file in task.negatives]
        reading.append(
            f"negatives = {{name: read_table(name{positives_format}) for name in {of_negatives!r}}}"
        )
        chosen = f", negatives=negatives{chosen}"
    if with_reference:
        chosen = f", unlabeled={'drawn.rows().table' if drawn else 'sample'}{chosen}"
    drop = "sample = model.without_positives(sample)"
    each = [f"for name in {names!r}:", f"    sample = read_table(name{reading_options})"]
    indent, shown = ("    ", "name, ") if by_file else ("", "")
    if task.by:
        by = task.by[0] if len(task.by) == 1 else list(task.by)
        answers = [
            f"{indent}for group, p in model.quantify_groups(sample, {by!r}).items():",
            f"{indent}    print({shown}*group, repr(p))",
        ]
    else:
        answers = [f"{indent}print({shown}repr(model.quantify(sample)))"]
    several = "read_files, " if len(names) > 1 and together else ""
    formats = {
        "positives_format": of_positives if of_positives != unusual else {},
        "read_options": unusual,
    }
    written = [
        f"{name} = ReadOptions({', '.join(f'{key}={value!r}' for key, value in settings.items())})"
        for name, settings in formats.items()
        if settings
    ]
    of_positives_alone = f"positives = read_table({task.positives.name!r}{positives_format})"
    lines = [
        f"from poscount import {', '.join(sorted(imported))}",
        *(["from poscount.files.read_options import ReadOptions"] if written else []),
        f"from poscount.files.reading import {several}read_table",
        *(["from poscount.files.sampling import RowSample"] if drawn else []),
        "",
        *written,
        *([] if labelled else [of_positives_alone]),
        *(reading if together else []),
        f"model = {made}.fit(positives{chosen})",
        *(each if by_file else []),
        *([f"{indent}{drop}"] if wanted.drop_known else []),
        *answers,
    ]
    return "\n".join(lines)


def _file_name(file: Upload) -> str:
    """Give the name of a file as a shell takes it, with the sheet if it is one of a workbook."""
    name = f"./{file.name}" if file.name.startswith("-") else file.name
    sheet = file.read_options.sheet
    return shlex.quote(name if sheet is None else f"{name}:{sheet}")


def _unusual(read_options: ReadOptions) -> dict[str, Any]:
    usual = ReadOptions()._asdict()
    return {name: value for name, value in read_options._asdict().items() if value != usual[name]}


def _csv_options(read_options: ReadOptions) -> list[str]:
    settings = _unusual(read_options)
    options = []
    for name in ("delimiter", "decimal", "encoding", "thousands", "header_row", "footer"):
        if name in settings:
            written = str(settings[name]).replace("\t", "\\t")
            name = name.replace("_", "-")
            options.append(f"--{name} {shlex.quote(written)}")
    if read_options.units:
        units = ",".join(f"{column}={unit}" for column, unit in read_options.units)
        options.append(f"--units {shlex.quote(units)}")
    options += [f"--rename {shlex.quote(f'{old}={new}')}" for old, new in read_options.rename]
    if read_options.na:
        # With an equals sign, because a value may begin with a dash.
        options.append(f"--na={shlex.quote(','.join(read_options.na))}")
    if read_options.day_first is not None:
        options.append("--day-first" if read_options.day_first else "--month-first")
    if read_options.row_names:
        options.append("--row-names yes")
    if not read_options.header:
        options.append("--no-header")
    return options
