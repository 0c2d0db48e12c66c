"""What worker processes do: read uploads, ask the library, write results.

The library and what it needs are imported at the top, so that a process from which workers are
forked has them all. The server itself never imports this module.
"""

from __future__ import annotations

import csv
import itertools
import json
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from poscount import registry, workflows
from poscount.base import CountingQuantifier, Quantifier
from poscount.datasets import example_path
from poscount.errors import InputError
from poscount.files.arrow import Progress, pyarrow
from poscount.files.features import choose_features
from poscount.files.reading import read_table
from poscount.plotting import PrevalenceDisplay
from poscount.plotting.display import png
from poscount.results import Result, write_csv
from poscount.web import recipes, report
from poscount.web.diagnosis import check_assumptions
from poscount.web.inspection import inspect
from poscount.web.limits import Limits
from poscount.web.offer import METHODS
from poscount.web.refusals import field_of, for_the_page, size

Report = Callable[[str, float | None], None]

# Now, and not in every worker anew; and no window, whatever the machine has.
pyarrow()
matplotlib.use("agg")
_CLASSES = {name: registry.method(name) for name in METHODS}

_OPTIONS = ("scorer", "confidence", "bootstrap")
_MOST_DRAWN = 300


def run(task: dict[str, Any], report_step: Report) -> dict[str, Any]:
    """Do a task; what goes wrong becomes a sentence, and the field that it belongs to."""
    try:
        return {"done": _TASKS[task["kind"]](task, report_step)}
    except MemoryError:
        most = size(task["limits"]["memory_bytes"])
        sentence = (
            f"This needs more memory than the {most} that the server gives; use fewer rows or "
            "columns, or the command line."
        )
    except (ValueError, TypeError, ImportError, OSError) as error:
        sentence = str(error)
    except Exception as error:  # a mistake of ours must not look like one of theirs
        traceback.print_exc()
        sentence = f"Something went wrong that is not your fault ({error!r}); please report it."
    return {"failed": _in_their_names(sentence, task), "field": _field(sentence, task)}


def _methods(task: dict[str, Any], report_step: Report) -> list[dict[str, Any]]:
    """Describe the methods that are offered, the default first."""
    return [_about(name, kind) for name, kind in _CLASSES.items()]


def _about(name: str, kind: Any) -> dict[str, Any]:
    parameters = kind().get_params(deep=False)
    return {
        "name": name,
        "title": kind.__name__,
        "summary": (kind.__doc__ or "").splitlines()[0].replace("`", ""),
        "reusable": issubclass(kind, CountingQuantifier),
        "options": [option for option in _OPTIONS if option in parameters],
    }


def _inspect(task: dict[str, Any], report_step: Report) -> dict[str, Any]:
    if task["example"]:
        shutil.copyfile(example_path(task["example"]), task["path"])
    return inspect(task["path"], task["role"], task["layout"], Limits(**task["limits"]))


def _estimate(task: dict[str, Any], report_step: Report) -> dict[str, Any]:
    report_step(f"learning from {task['names'][task['positives']]}", None)
    model = workflows.fit(
        task["positives"],
        task["method"],
        options=task["options"],
        features=task["features"],
        layout=task["layout"],
    )
    results = [
        _under_their_name(result, task)
        for result in workflows.quantify(
            model,
            task["data"],
            by=task["by"],
            by_file=task["by_file"],
            # The other cores are for others, and every thread would take of the memory.
            n_jobs=1,
            layout=task["layout"],
            watch=_watch(model, task, report_step),
        )
    ]
    if len(results) > task["limits"]["groups"]:
        raise ValueError(f"There are {len(results):,} groups: leave --by out, or choose another.")
    report_step("writing the result", None)
    _write(model, results, task)
    return {}


def _watch(model: Quantifier, task: dict[str, Any], report_step: Report) -> workflows.Watch:
    files = task["data"]
    if not isinstance(model, CountingQuantifier):
        report_step(f"looking at {len(files)} file(s) of unlabeled rows together", None)
    n_parts = len(files) if task["by_file"] else 1
    numbers = itertools.count()

    @contextmanager
    def watch(title: str) -> Iterator[Progress]:
        step, before = f"counting {_in_their_names(title, task)}", next(numbers)
        report_step(step, before / n_parts)
        yield lambda done, total: report_step(step, (before + done / total) / n_parts)

    return watch


def _write(model: Quantifier, results: list[Result], task: dict[str, Any]) -> None:
    folder = Path(task["directory"])
    truth = _truth(results) if task["example"] else None
    picture = None
    if len(results) <= _MOST_DRAWN:
        figure = PrevalenceDisplay.from_results(results, truth=truth).figure_
        figure.savefig(folder / "prevalence.svg", metadata={"Date": None})
        picture = png(figure)
        (folder / "prevalence.png").write_bytes(picture)
        plt.close(figure)
    answer = _answer(model, results, task, truth, drawn=picture is not None)
    with open(folder / "result.csv", "w", newline="", encoding="utf-8") as file:
        write_csv(results, file)
    try:
        model.save(folder / "model.poscount")
    except ImportError as error:
        answer["no_model"] = str(error)
    (folder / "report.html").write_text(report.html(answer, picture), encoding="utf-8")
    (folder / "result.json").write_text(json.dumps(answer, indent=1), encoding="utf-8")


def _answer(
    model: Quantifier,
    results: list[Result],
    task: dict[str, Any],
    truth: list[float] | None,
    drawn: bool,
) -> dict[str, Any]:
    features = list(model.feature_names_in_)
    reusable = isinstance(model, CountingQuantifier)
    needed = None if features == _chosen_unasked(task) else features
    first = results[0].prevalence
    entries = [
        {
            "label": report.label(result),
            "group": {name: _plain(value) for name, value in result.group.items()},
            "sentence": report.sentence(result),
            **result.prevalence.to_dict(),
            "truth": truth[i] if truth else None,
        }
        for i, result in enumerate(results)
    ]
    return {
        "headline": report.headline(results),
        "labelled": ", ".join(results[0].group) or "sample",
        "results": entries,
        "truth": truth is not None,
        "warnings": report.warnings(results),
        "meaning": report.MEANING,
        "doubts": report.DOUBTS,
        "made": (
            f"{first.method} learned from {first.n_labeled:,} positives by the columns "
            f"{', '.join(features)}; seed {results[0].seed}."
        ),
        "method": task["method"],
        "features": features,
        "seed": results[0].seed,
        "picture": f"Chart of the numbers in the table. {report.headline(results)}"
        if drawn
        else None,
        "command": recipes.command(task, needed, reusable),
        "python": recipes.python(task, needed, first.method),
        "no_model": None,
    }


def _chosen_unasked(task: dict[str, Any]) -> list[str] | None:
    """Features that would be chosen without being named, if there is no doubt about them."""
    path = task["positives"]
    try:
        return choose_features(read_table(path, **task["layout"]), None, [], path)
    except InputError:
        return None


def _truth(results: list[Result]) -> list[float] | None:
    """Shares that are known, because the example is simulated."""
    with open(example_path("truth.csv"), newline="") as file:
        shares = {
            row["night"]: int(row["positives"]) / int(row["rows"]) for row in csv.DictReader(file)
        }
    nights = [result.group.get("night") for result in results]
    return [shares[night] for night in nights] if set(nights) <= set(shares) else None


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _under_their_name(result: Result, task: dict[str, Any]) -> Result:
    if task["by_file"]:
        path = result.group["file"]
        return result._replace(group={**result.group, "file": task["names"][path]})
    return result


def _in_their_names(sentence: str, task: dict[str, Any]) -> str:
    for path, name in task["names"].items():
        sentence = sentence.replace(path, name)
    return for_the_page(sentence)


def _field(sentence: str, task: dict[str, Any]) -> str | None:
    named = field_of(sentence)
    if named or task["kind"] != "estimate":
        return named
    if task["positives"] in sentence:
        return "positives"
    return "unlabeled" if any(path in sentence for path in task["data"]) else None


_TASKS = {
    "methods": _methods,
    "inspect": _inspect,
    "estimate": _estimate,
    "diagnose": check_assumptions,
}
