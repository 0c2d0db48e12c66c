"""One table with a column that says what is known of its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError, ask_about_similar, join_names

# Cells that say that nothing is known; without regard to case.
_NOT_KNOWN = {
    *("", "na", "n/a", "#n/a", "nan", "null", "none", "-", "--", "?", "."),
    *("unknown", "not known", "unlabeled", "unlabelled", "undetermined", "unclear", "pending"),
    *("unbekannt", "inconnu", "desconocido", "desconhecido"),
}
# Cells that may say that a row is negative, or only that it is not known to be positive.
_NO = {"0", "-1", "no", "n", "false", "f", "negative", "neg", "nein", "non", "não"}
_WHOLE = re.compile(r"([+-]?\d+)\.0+")
_MOST_CLASSES = 50
_SHOWN = 5

Values = str | int | float | bool | Sequence[Any] | None


@dataclass(frozen=True)
class Labels:
    """What the values of a column say of the rows that have them.

    Parameters
    ----------
    column : str
        Its name.
    classes : tuple of str
        The values of positives: one, or one for each target.
    negatives : tuple of str
        The values of known negatives, each a kind of its own.
    rows : dict of str to list of int
        The rows of each of these values, from 0.
    unlabeled : list of int
        All other rows.
    others : dict of str to int
        The values of these that could be taken for labels, and how many rows have them.
    """

    column: str
    classes: tuple[str, ...]
    negatives: tuple[str, ...]
    rows: Mapping[str, list[int]]
    unlabeled: list[int]
    others: Mapping[str, int]

    def in_words(self) -> str:
        """Say what becomes of the rows."""
        return (
            f"column {self.column!r}: "
            + ", ".join(
                f"{len(self.rows[value]):,} {what} ({value!r})"
                for what, values in (("positives", self.classes), ("negatives", self.negatives))
                for value in values
            )
            + f"; the other {len(self.unlabeled):,} rows are unlabeled"
            + (f", {_listed(self.others)} among them." if self.others else ".")
        )


@dataclass(frozen=True)
class LabelSplit:
    """Parts of a table, for `fit` and `quantify`, without the column that told them apart.

    It unpacks into positives and unlabeled rows, unless there are negatives as well.

    Attributes
    ----------
    positives : frame, or dict of str to frame
        The labelled positives; a frame for each target if there are several, for `MultiRCQ`.
    unlabeled : frame
        The rows to be counted.
    negatives : frame, dict of str to frame, or None
        Known negatives, for `RCQWithNegatives`; a frame for each kind if there are several.
    targets : tuple of str
        Names of the targets if there are several.
    """

    positives: Any
    unlabeled: Any
    negatives: Any
    targets: tuple[str, ...]

    def __iter__(self) -> Iterator[Any]:
        if self.negatives is not None:
            raise InputError(
                "There are known negatives, too: keep the whole result, and use its positives, "
                "unlabeled and negatives."
            )
        return iter((self.positives, self.unlabeled))


def split(
    table: Any, label: str, *, positive: Values = None, negative: Values = None
) -> LabelSplit:
    """Split a table by a column that says what is known of its rows.

    Rows whose label is missing, or a word such as "unknown", are to be counted. If all other rows
    have one label, they are the positives; if they have several, these are targets. Labels such as
    0 and "no" may mean known negatives, or rows of which nothing is known, so then the positive
    label must be named.

    Parameters
    ----------
    table : pandas, polars or pyarrow frame
    label : str
        The column; it is not in the parts.
    positive : str, number, bool or list of these, optional
        The label of positives, or those of several targets. Rows with any other label are to be
        counted, unless it is among the `negative` ones.
    negative : str, number, bool or list of these, optional
        The label of known negatives, or those of several kinds.

    Returns
    -------
    LabelSplit
        With `positives`, `unlabeled`, `negatives` and `targets`; unpacks into the first two.

    Examples
    --------
    >>> import pandas as pd
    >>> from poscount import split
    >>> register = pd.DataFrame({"age": [61, 40, 55, 38], "diagnosed": ["yes", None, "yes", ""]})
    >>> positives, unlabeled = split(register, label="diagnosed")
    >>> positives["age"].tolist(), unlabeled["age"].tolist()
    ([61, 55], [40, 38])
    """
    frame = as_frame_with_names(table)
    found = find_labels(frame, label, positive=positive, negative=negative)
    rest = frame.drop(label)

    def part(rows: list[int]) -> Any:
        return nw.maybe_reset_index(rest[rows]).to_native()

    def parts(values: Sequence[str]) -> Any:
        frames = {value: part(found.rows[value]) for value in values}
        return frames if len(frames) > 1 else next(iter(frames.values()), None)

    several = found.classes if len(found.classes) > 1 else ()
    return LabelSplit(parts(found.classes), part(found.unlabeled), parts(found.negatives), several)


def find_labels(
    frame: nw.DataFrame, label: str, *, positive: Values = None, negative: Values = None
) -> Labels:
    """Find out what the labels of a frame mean; the parameters are those of `split`."""
    if label not in frame.columns:
        names = join_names(map(repr, frame.columns), 20)
        rest = ask_about_similar(label, frame.columns, f"the columns are {names}.")
        raise InputError(f"there is no such column; {rest}", column=label, option="label")
    cells = _spelled_alike([_text(value) for value in frame[label].to_list()])
    sizes = Counter(cell for cell in cells if cell.casefold() not in _NOT_KNOWN)
    wanted, unwanted = (_values(values, cells) for values in (positive, negative))
    for option, values in (("positive", wanted), ("negative", unwanted)):
        for value in values:
            if value not in cells:
                raise InputError(
                    f"no row has the label {value!r}; there are {_listed(sizes)}.",
                    column=label,
                    option=option,
                )
    if both := sorted(set(wanted) & set(unwanted)):
        raise InputError(
            f"the label {both[0]!r} cannot mean both positives and negatives.",
            column=label,
            option="negative",
        )
    # In the order of their names, so that the order of the rows changes nothing.
    classes = wanted or _classes(label, sizes, len(cells), unwanted)
    rows: dict[str, list[int]] = {value: [] for value in (*classes, *unwanted)}
    unlabeled: list[int] = []
    for row, cell in enumerate(cells):
        rows.get(cell, unlabeled).append(row)
    if not unlabeled:
        raise InputError(
            f"every row has a label ({_listed(sizes)}), so there is none to be counted; name the "
            "positive label alone if the others only mean that nothing is known.",
            column=label,
            option="positive",
            value=classes[0] if len(classes) == 1 else None,
        )
    others = {value: n for value, n in sorted(sizes.items()) if value not in rows}
    return Labels(label, tuple(classes), tuple(unwanted), rows, unlabeled, others)


def _classes(label: str, sizes: Counter, n_rows: int, negatives: Sequence[str]) -> list[str]:
    """Labels that mean positives, where nobody has named them."""
    known = sorted(value for value in sizes if value not in negatives)
    doubtful = [value for value in known if value.casefold() in _NO]
    plain = [value for value in known if value not in doubtful]
    if not plain:
        raise InputError(
            f"no row has the label of a positive; there are {_listed(sizes)}.",
            column=label,
            option="positive",
        )
    if len(known) > _MOST_CLASSES:
        raise InputError(
            f"it has {len(known)} different labels; say which one means positives.",
            column=label,
            option="positive",
        )
    if doubtful:
        one, no = plain[0], doubtful[0]
        raise InputError(
            f"{no!r} ({sizes[no]:,} rows) may mean that nothing is known of these rows, or "
            "that they are known negatives.",
            column=label,
            option="positive",
            value=one,
            besides=("negative", no),
        )
    if len(known) > 1 and sum(sizes.values()) == n_rows:
        raise InputError(
            f"every row has a label ({_listed(sizes)}); name the positive one, and rows with any "
            "other label are unlabeled.",
            column=label,
            option="positive",
        )
    return known


def _values(values: Values, cells: Sequence[str]) -> list[str]:
    """Labels that the user has named, as the cells write them."""
    if values is None:
        return []
    each = values if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    spelled = {cell.casefold(): cell for cell in cells}
    texts = map(_text, each)
    return list(dict.fromkeys(spelled.get(text.casefold(), text) for text in texts))


def _spelled_alike(cells: Sequence[str]) -> list[str]:
    """Write labels that differ only in case in the way that is most common."""
    spelled: dict[str, str] = {}
    for cell, _ in sorted(Counter(cells).items(), key=lambda item: (-item[1], item[0])):
        spelled.setdefault(cell.casefold(), cell)
    return [spelled[cell.casefold()] for cell in cells]


def _text(value: Any) -> str:
    """Write a label as text: 1, 1.0 and "1" are the same."""
    if value is None or value != value:
        return ""
    text = str(value).strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def _listed(sizes: Mapping[str, int]) -> str:
    shown = sorted(sizes, key=lambda value: (-sizes[value], value))
    return join_names((f"{value!r} ({sizes[value]:,} rows)" for value in shown), _SHOWN) or "none"
