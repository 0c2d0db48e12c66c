"""What the command line says to people: lines, and errors with each option by its flag."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from poscount.errors import InputError
from poscount.printable import printable

# The other options are called as in Python, with dashes.
_FLAGS = {"header": "--no-header", "trusted": "--trust", "n_resamples": "--bootstrap"}


def for_command_line(error: InputError) -> str:
    """Say what is wrong, and which option of the command line mends it.

    Examples
    --------
    >>> for_command_line(InputError("'1,5' is not a number.", option="decimal", value=","))
    "'1,5' is not a number. Pass --decimal ','."
    >>> for_command_line(InputError("Counts files have no groups.", option="by", leave_out=True))
    'Counts files have no groups. Leave --by out.'
    """
    return error.rendered(_remedy(error))


def echo(sentence: object, *, err: bool = False) -> None:
    """Print a line for people: nothing that comes from data acts on the terminal."""
    print(printable(str(sentence)), file=sys.stderr if err else sys.stdout)


def flag(option: str) -> str:
    """Name of an option on the command line.

    Examples
    --------
    >>> flag("random_state"), flag("trusted")
    ('--random-state', '--trust')
    """
    return _FLAGS.get(option, f"--{option.replace('_', '-')}")


def _remedy(error: InputError) -> str:
    if error.option is None:
        return ""
    name, value = flag(error.option), error.value
    if error.option == "day_first":
        return "Pass --day-first or --month-first."
    if error.option == "header":
        return f"Pass {name}." if value is False else f"Leave {name} out."
    if error.leave_out:
        return f"Leave {name} out."
    if value is None:
        return f"Choose it with {name}."
    if error.option == "rename":
        pairs = (f"{name} {_text(f'{old}={new}')}" for old, new in value.items())
        return f"Pass {' '.join(pairs)}."
    settings = f"{name} {_text(value)}"
    other = f" or {flag(error.otherwise)} {_text(value)}" if error.otherwise else ""
    if error.besides is not None:
        option, besides = error.besides
        other = f", or {settings} {flag(option)} {_text(besides)}"
    return f"Pass {settings}{other}."


def _text(value: Any) -> str:
    """Write a value as it is typed, in quotation marks that tell it from the sentence."""
    if isinstance(value, dict):
        value = [f"{key}={item}" for key, item in value.items()]
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    quoted = shlex.quote(text.replace("\t", "\\t"))
    return quoted if "'" in quoted else f"'{quoted}'"
