"""The table of rows to be labelled: made, and read back when its labels are filled in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import in_memory, with_columns
from poscount.auditing.sampling import Design, LabelSample, draw
from poscount.base.counting import CountingQuantifier
from poscount.data.grouping import column_names
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError, ask_about_similar
from poscount.seeds import RandomState, seed_of

LABEL = "label"
# The label of a second person, if there is one.
SECOND_LABEL = "label_2"
ID, FILE, MODEL, DESIGN = "audit_id", "audit_file", "audit_model", "audit_design"
# What must come back; the others are for people.
_NEEDED = (LABEL, ID, MODEL, DESIGN)

YES = ("yes", "y", "1", "true", "positive")
NO = ("no", "n", "0", "false", "negative")


def audit(
    model: CountingQuantifier,
    frame: Any,
    n: int = 100,
    *,
    by: str | Sequence[str] = (),
    weights: str | None = None,
    random_state: RandomState = 0,
    labelled: Any = None,
) -> Any:
    """Choose rows to be labelled by hand, so that their labels settle the prevalence.

    Rows are drawn at random from strata by the model's posterior, more of them where it is
    uncertain and where positives are likely (`poscount.auditing.sampling`). Fill in the column
    "label" of the result from the top, and give it to `settle`, as often as you like. Rows that are
    skipped because they are hard to judge bias the answer.

    Parameters
    ----------
    model : CountingQuantifier
        A fitted reusable quantifier, such as `RCQ`.
    frame : pandas, polars or pyarrow frame
        Unlabeled rows; columns that the model does not use may help to judge them.
    n : int, default=100
        Number of rows to be labelled.
    by : str or sequence of str
        Grouping columns, as in `quantify_by`: `settle` also gives an answer for each group.
    weights : str, optional
        Column of the rows' weights: the share of the weight that is positive is settled.
    random_state : int, RandomState, Generator or None
        Seed. The same seed draws the same rows, and with a larger `n` (of at least 40, and without
        groups) the same and more.
    labelled : frame, optional
        An earlier result for the same model, rows and seed, with labels: those of rows that are
        drawn again are filled in.

    Returns
    -------
    frame of the caller's kind
        "label", which is empty; the columns of the rows; and the columns that `settle` needs:
        "audit_id" (the row's place among all rows, and a hash of it), "audit_file" and
        "audit_row" (where it is), "audit_stratum", "audit_stratum_rows" (its size), "audit_model"
        (the model's hash), and "audit_design" (`n`, the seed, groups and weights). A second person
        may fill in a column "label_2".

    See Also
    --------
    poscount.settle : What the labels say.

    Examples
    --------
    >>> import poscount
    >>> from poscount.example import load_example
    >>> positives, trap, truth = load_example()
    >>> model = poscount.RCQ(random_state=0).fit(positives)
    >>> to_label = poscount.audit(model, trap, n=50)
    >>> to_label[["wingbeat_hz", "audit_row", "audit_stratum", "audit_stratum_rows"]].head(2)
       wingbeat_hz  audit_row  audit_stratum  audit_stratum_rows
    0        757.4       7718              2                1744
    1        394.3       4773              4                 533
    """
    design = Design(n, seed_of(random_state), column_names(by), weights)
    drawn = draw(model, in_memory(frame), design)
    earlier = {}
    if labelled is not None:
        earlier = earlier_labels(as_frame_with_names(labelled), model, design)
    return label_table(drawn, model, design, earlier).to_native()


def label_table(
    drawn: LabelSample, model: CountingQuantifier, design: Design, earlier: dict[str, bool]
) -> nw.DataFrame:
    """Table of the rows drawn, with labels where there are some already."""
    strata, stratum, size = drawn.strata, drawn.stratum, len(drawn.frame)
    words = {row: "yes" if label else "no" for row, label in earlier.items()}
    return with_columns(
        drawn.frame,
        {
            LABEL: ([words.get(row) for row in drawn.ids], nw.String),
            ID: (drawn.ids, nw.String),
            FILE: (drawn.files, nw.String),
            "audit_row": (drawn.numbers.tolist(), nw.Int64),
            "audit_stratum": ((stratum + 1).tolist(), nw.Int64),
            "audit_stratum_rows": (strata.rows[stratum].tolist(), nw.Int64),
            MODEL: ([short_hash(model)] * size, nw.String),
            DESIGN: ([json.dumps(design._asdict())] * size, nw.String),
        },
        "the rows to label get a column of this name; rename yours.",
    )


def short_hash(model: CountingQuantifier) -> str:
    """Beginning of the model's hash; a letter keeps spreadsheets from reading a number."""
    return f"m{model.hash_[:16]}"


class LabelTable(NamedTuple):
    """What a table of labels says; nothing of it has been compared with the data.

    Attributes
    ----------
    ids : list of str
    labels, second_labels : list of bool or None
        None where there is no label.
    design : Design
        By which the rows were drawn.
    """

    ids: list[str]
    labels: list[bool | None]
    second_labels: list[bool | None]
    design: Design


def read_label_table(frame: nw.DataFrame, model: CountingQuantifier) -> LabelTable:
    """Read a table of labels, and refuse one that cannot be used whatever the data are."""
    for name in _NEEDED:
        if name not in frame.columns:
            rest = ask_about_similar(name, frame.columns, "give back the table that audit made.")
            raise InputError(f"the labelled rows have no such column; {rest}", column=name)
    texts = {
        name: [_text(value) for value in frame[name].to_list()]
        for name in (*_NEEDED, SECOND_LABEL)
        if name in frame.columns
    }
    if not len(frame):
        raise InputError("The table of labels has no rows.")
    for row, value in enumerate(texts[MODEL]):
        if value != short_hash(model):
            raise InputError(
                f"the row was drawn with another model ({value}) than this one "
                f"({short_hash(model)}): settle with that model, or draw again.",
                column=MODEL,
                row=row,
            )
    ids = texts[ID]
    first: dict[str, int] = {}
    for row, value in enumerate(ids):
        if first.setdefault(value, row) != row:
            raise InputError(
                f"{value!r} is there a second time, in this row and {row - first[value]} row(s) "
                "above: remove one of them.",
                column=ID,
                row=row,
            )
    labels, second = (
        [_label(value, row, name) for row, value in enumerate(texts.get(name, [""] * len(ids)))]
        for name in (LABEL, SECOND_LABEL)
    )
    if all(label is None for label in labels):
        raise InputError("there is no label: write yes or no for each row.", column=LABEL)
    return LabelTable(ids, labels, second, _read_design(texts[DESIGN]))


def earlier_labels(
    frame: nw.DataFrame, model: CountingQuantifier, design: Design
) -> dict[str, bool]:
    """Labels of an earlier table, by the rows' ids."""
    table = read_label_table(frame, model)
    if table.design.seed != design.seed:
        raise InputError(
            f"the earlier rows were drawn with the seed {table.design.seed}, so others are drawn "
            "now.",
            option="random_state",
            value=table.design.seed,
        )
    pairs = zip(table.ids, table.labels, strict=True)
    return {row: label for row, label in pairs if label is not None}


def places_in(drawn: LabelSample, table: LabelTable) -> np.ndarray:
    """Place of each row of a table of labels among the rows that the model draws now.

    Returns
    -------
    ndarray of int
    """
    places = {row: place for place, row in enumerate(drawn.ids)}
    unknown = [i for i, row in enumerate(table.ids) if row not in places]
    if unknown:
        raise InputError(
            f"{len(unknown)} of {len(table.ids)} labelled rows, this one first, are not among the "
            "rows that the model draws from these data: the data have changed since, or are "
            "others or in another order, or the column was edited; restore them, or draw again.",
            column=ID,
            row=unknown[0],
        )
    return np.array([places[row] for row in table.ids])


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _label(text: str, row: int, column: str) -> bool | None:
    word = text.casefold()
    word = {"1.0": "1", "0.0": "0"}.get(word, word)
    if word in YES or word in NO:
        return word in YES
    if not word:
        return None
    raise InputError(
        f"{text!r} is not a label: write yes or no (also y and n, 1 and 0, true and false, "
        "positive and negative), or leave it empty.",
        column=column,
        row=row,
    )


def _read_design(texts: Sequence[str]) -> Design:
    """The design that all rows of an audit share."""
    found = _design(texts[0])
    for row, text in enumerate(texts):
        if text != texts[0] or found is None:
            raise InputError(
                f"{text!r} is not how the rows of this audit were drawn: it was edited; restore "
                "it.",
                column=DESIGN,
                row=row,
            )
    assert found is not None
    return found


def _design(text: str) -> Design | None:
    """A design as it was written; None if it was not written so."""
    try:
        n, seed, by, weights = (json.loads(text)[name] for name in Design._fields)
    except (ValueError, TypeError, KeyError):
        return None
    names = [*by, *([] if weights is None else [weights])] if isinstance(by, list) else [by]
    whole = type(n) is int and type(seed) is int and min(n, seed) >= 0
    plain = whole and all(isinstance(name, str) for name in names) and isinstance(by, list)
    return Design(n, seed, tuple(by), weights) if plain else None
