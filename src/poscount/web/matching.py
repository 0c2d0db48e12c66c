"""Which columns of the positives the unlabeled files have, and which columns could make groups."""

from __future__ import annotations

from typing import Any

from poscount.web.limits import Limits
from poscount.web.refusals import RefusedError
from poscount.web.sessions import Session, Upload


def matched(session: Session) -> dict[str, Any]:
    """Compare the files of a session: `columns`, `left_alone` and `groupings`."""
    positives, unlabeled = session.of_role("positives"), session.of_role("unlabeled")
    learnable = positives[0].content["columns"] if positives else []
    columns = []
    for column in learnable:
        missing = [upload.name for upload in unlabeled if column["name"] not in _names(upload)]
        why_not = column["doubt"]
        if missing:
            why_not = f"is missing in {', '.join(missing)}"
        columns.append({"name": column["name"], "use": why_not is None, "why_not": why_not})
    shared = _in_all(unlabeled)
    known = {column["name"] for column in learnable}
    every = dict.fromkeys(name for upload in unlabeled for name in _names(upload))
    return {
        "columns": columns,
        "left_alone": [name for name in every if positives and name not in known],
        "groupings": [name for name in shared if _n_groups(unlabeled, name) is not None],
    }


def check_features(session: Session, features: list[str] | None) -> None:
    """Refuse features that the positives do not have."""
    (positives,) = session.of_role("positives")
    for name in features or []:
        if name not in _names(positives):
            raise RefusedError(422, f"{positives.name} has no column {name!r}.", "features")


def check_grouping(session: Session, by: list[str], limits: Limits) -> None:
    """Refuse columns that are not there, or make more groups than anybody can look at."""
    unlabeled = session.of_role("unlabeled")
    n_groups = 1
    for name in by:
        if name not in _in_all(unlabeled):
            raise RefusedError(422, f"Not every unlabeled file has a column {name!r}.", "by")
        distinct = _n_groups(unlabeled, name)
        n_groups *= limits.groups + 1 if distinct is None else distinct
    if n_groups > limits.groups:
        raise RefusedError(
            422,
            f"{', '.join(by)}: this makes more than {limits.groups:,} groups; choose a column with "
            "fewer values.",
            "by",
        )


def _names(upload: Upload) -> list[str]:
    return [column["name"] for column in upload.content["columns"]]


def _in_all(uploads: list[Upload]) -> list[str]:
    names = _names(uploads[0]) if uploads else []
    return [name for name in names if all(name in _names(other) for other in uploads[1:])]


def _n_groups(uploads: list[Upload], name: str) -> int | None:
    counts = [
        column["distinct"]
        for upload in uploads
        for column in upload.content["columns"]
        if column["name"] == name
    ]
    return None if None in counts else sum(counts)
