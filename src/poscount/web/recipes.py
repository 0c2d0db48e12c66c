"""How to do the same without the page: commands and Python with the real names and the seed."""

from __future__ import annotations

import shlex
from typing import Any

from poscount import registry

_MODEL = "model.poscount"


def command(task: dict[str, Any], features: list[str] | None, reusable: bool) -> str:
    """Write the commands; `features` is None where the command line would choose the same."""
    if any("," in name or name != name.strip() for name in [*(features or []), *task["by"]]):
        return "# A column name with a comma or outer spaces: this can be done in Python only."
    positives, *data = (_file(task["names"][path]) for path in [task["positives"], *task["data"]])
    layout = _layout_options(task["layout"])
    options = [] if task["method"] == registry.DEFAULT_METHOD else [f"--method {task['method']}"]
    if features is not None:
        options.append(f"--features {shlex.quote(','.join(features))}")
    for name, value in task["options"].items():
        if value is not None:
            options.append(f"--{name.replace('_', '-')} {value}")
    groups = [f"--by {shlex.quote(','.join(task['by']))}"] if task["by"] else []
    groups += ["--by-file"] if task["by_file"] else []
    if not reusable:
        return " ".join(["poscount estimate", positives, *data, *options, *groups, *layout])
    fit = ["poscount fit", positives, f"-o {_MODEL}", *options, *layout]
    quantify = [f"poscount quantify {_MODEL}", *data, *groups, *layout]
    return f"{' '.join(fit)}\n{' '.join(quantify)}"


def diagnosing(task: dict[str, Any]) -> str:
    """Write the command that checks the assumptions, for the model file of the estimate."""
    positives, *data = (_file(task["names"][path]) for path in [task["positives"], *task["data"]])
    options = [f"--positives {positives}", *_layout_options(task["layout"])]
    return " ".join([f"poscount diagnose {_MODEL}", *data, *options])


def python(task: dict[str, Any], features: list[str] | None, class_name: str) -> str:
    """Write the same in Python."""
    layout = ", ".join(f"{name}={value!r}" for name, value in _unusual(task["layout"]).items())
    layout = f", csv_format=CsvFormat({layout})" if layout else ""
    options = {name: value for name, value in task["options"].items() if value is not None}
    scorer = options.pop("scorer", None)
    parameters = [f"scorer=registry.scorer({scorer!r})"] if scorer else []
    parameters += [f"{name}={value!r}" for name, value in options.items()]
    names = [task["names"][path] for path in task["data"]]
    chosen = "" if features is None else f", features={features!r}"
    if task["by_file"]:
        reading = [f"for name in {names!r}:", f"    sample = read_table(name{layout})"]
    elif len(names) == 1:
        reading = [f"sample = read_table({names[0]!r}{layout})"]
    else:
        reading = [
            f"tables = [read_table(name{layout}) for name in {names!r}]",
            'sample = pyarrow.concat_tables(tables, promote_options="permissive")',
        ]
    indent, shown = ("    ", "name, ") if task["by_file"] else ("", "")
    if task["by"]:
        by = task["by"][0] if len(task["by"]) == 1 else task["by"]
        answers = [
            f"{indent}for group, p in model.quantify_groups(sample, {by!r}).items():",
            f"{indent}    print({shown}*group, repr(p))",
        ]
    else:
        answers = [f"{indent}print({shown}repr(model.quantify(sample)))"]
    lines = [
        *(["import pyarrow", ""] if len(reading) == 2 and not indent else []),
        f"from poscount import {class_name}{', registry' if scorer else ''}",
        *(["from poscount.files.csv import CsvFormat"] if layout else []),
        "from poscount.files.reading import read_table",
        "",
        f"positives = read_table({task['names'][task['positives']]!r}{layout})",
        f"model = {class_name}({', '.join(parameters)}).fit(positives{chosen})",
        *reading,
        *answers,
    ]
    return "\n".join(lines)


def _file(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _unusual(layout: dict[str, Any]) -> dict[str, Any]:
    usual = {"delimiter": None, "decimal": ".", "header": True}
    return {name: value for name, value in layout.items() if value != usual[name]}


def _layout_options(layout: dict[str, Any]) -> list[str]:
    unusual = _unusual(layout)
    options = []
    if "delimiter" in unusual:
        mark = "\\t" if unusual["delimiter"] == "\t" else unusual["delimiter"]
        options.append(f"--delimiter {shlex.quote(mark)}")
    if "decimal" in unusual:
        options.append(f"--decimal {unusual['decimal']}")
    if "header" in unusual:
        options.append("--no-header")
    return options
