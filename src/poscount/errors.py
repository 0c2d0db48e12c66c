"""Errors as data: what is wrong, where, and which option would mend it.

Which words say how to set an option depends on the front end: Python's are here, those of the
command line and of the page are in `cli` and `web`.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from typing import Any, Self

from poscount.printable import in_a_sentence

# Characters of what is said: a cell of a damaged file may have millions.
_MOST_SAID = 500
_MOST_NAME = 120


class InputError(ValueError):
    """Data or a setting that cannot be used.

    `row` counts from 0. So does the text for the rows of an array or a frame, as their index does;
    the rows of a file are counted from 1, without the header.

    Parameters
    ----------
    message : str
        What is wrong, in a sentence that names no option. Characters that would act on a terminal
        are escaped, and the middle is left out if it is long, because it may quote a file.
    file, column : str, optional
        The file and the column that have it.
    row : int, optional
        The row that has it.
    option : str, optional
        The parameter that would mend it, by its name in Python.
    value : object, optional
        What to set the option to, if it is known.
    leave_out : bool
        Whether the error is mended by not giving the option at all.
    otherwise : str, optional
        Another option that takes the same value, where only the user knows which of them is meant.
    besides : tuple of (str, object), optional
        An option and its value to set besides `option`, where only the user knows whether.

    Examples
    --------
    >>> print(InputError("'abc' is not a number.", file="trap.csv", column="size", row=4))
    trap.csv: column 'size', row 5: 'abc' is not a number.
    >>> print(InputError("'1,5' is not a number.", option="decimal", value=","))
    '1,5' is not a number. Set decimal=','.
    >>> print(InputError("'12,000' is ambiguous.", option="thousands", value=",",
    ...     otherwise="decimal"))
    '12,000' is ambiguous. Set thousands=',' or decimal=','.
    >>> print(InputError("0 is unclear.", option="positive", value="1", besides=("negative", "0")))
    0 is unclear. Set positive='1' or positive='1', negative='0'.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        column: str | None = None,
        row: int | None = None,
        option: str | None = None,
        value: Any = None,
        leave_out: bool = False,
        otherwise: str | None = None,
        besides: tuple[str, Any] | None = None,
    ) -> None:
        # Text from files may be part of it.
        message = in_a_sentence(message, _MOST_SAID)
        super().__init__(message)
        self.message = message
        self.file, self.column, self.row = file, column, row
        self.option, self.value, self.leave_out = option, value, leave_out
        self.otherwise, self.besides = otherwise, besides

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self._data), (self.message,)

    @property
    def _data(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "message"}

    def at(self, *, file: str | None = None, first_row: int = 0) -> Self:
        """Return the same error with the file that it is in, and its row in that file.

        Parameters
        ----------
        file : str, optional
            None keeps the file that the error has.
        first_row : int
            Row of the file at which the rows begin in which the error was found.
        """
        row = None if self.row is None else first_row + self.row
        return type(self)(self.message, **{**self._data, "file": file or self.file, "row": row})

    @property
    def place(self) -> str:
        """File, column and row, as far as they are known."""
        return ": ".join(part for part in (self.file, self.place_inside) if part)

    @property
    def place_inside(self) -> str:
        """Column and row, as far as they are known."""
        inside = []
        if self.column is not None:
            inside.append(f"column {in_a_sentence(repr(self.column), _MOST_NAME)}")
        if self.row is not None:
            inside.append(f"row {self.row if self.file is None else self.row + 1}")
        return ", ".join(inside)

    @property
    def remedy(self) -> str:
        """How to mend it in Python; empty if no option would."""
        if self.option is None:
            return ""
        if self.leave_out:
            return f"Leave {self.option}= out."
        if self.value is None:
            return f"Choose it with {self.option}=."
        options = [option for option in (self.option, self.otherwise) if option is not None]
        settings = [f"{option}={self.value!r}" for option in options]
        if self.besides is not None:
            option, value = self.besides
            settings.append(f"{settings[0]}, {option}={value!r}")
        return f"Set {' or '.join(settings)}."

    def rendered(self, remedy: str) -> str:
        """The whole text, with a remedy in the words of a front end."""
        place, remedy = (in_a_sentence(text, _MOST_SAID) for text in (self.place, remedy))
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} {remedy}" if remedy else text

    def __str__(self) -> str:
        return self.rendered(self.remedy)


class FileError(InputError):
    """A model or counts file that cannot be used."""


def join_names(names: Iterable[str], most: int = 5) -> str:
    """Names in a sentence: a few of them, and how many more there are.

    Examples
    --------
    >>> join_names("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """The name that is most likely to mean the same, if one is.

    Examples
    --------
    >>> similar_name("bill_length_mm", ["Bill length", "species"])
    'Bill length'
    """
    plain: dict[str, str] = {}
    for each in names:
        plain.setdefault(_plain(each), each)
    close = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.8)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def ask_about_similar(name: str, names: Iterable[str], rest: str) -> str:
    """Put the question whether a similar name is meant before the rest of a sentence.

    Examples
    --------
    >>> ask_about_similar("weight", ["Weight ", "size"], "its columns are 'Weight ', 'size'.")
    "did you mean 'Weight '? Its columns are 'Weight ', 'size'."
    >>> ask_about_similar("weight", ["size"], "its columns are 'size'.")
    "its columns are 'size'."
    """
    close = similar_name(name, names)
    return f"did you mean {close!r}? {rest[:1].upper()}{rest[1:]}" if close is not None else rest


def require_rows(n_rows: int, subject: str = "The sample has") -> None:
    """Refuse data without rows.

    Examples
    --------
    >>> require_rows(0)
    Traceback (most recent call last):
    poscount.errors.InputError: The sample has no rows (0 sample(s)): at least one is needed.
    """
    if n_rows == 0:
        raise InputError(f"{subject} no rows (0 sample(s)): at least one is needed.")
