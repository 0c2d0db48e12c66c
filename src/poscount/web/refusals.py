"""Refusals: a status, one sentence, and the field of the page that it belongs to."""

from __future__ import annotations

import re

# Sentences of the library name options of the command line; the page has fields instead.
FIELDS = {
    "delimiter": "the setting Delimiter",
    "decimal": "the setting Decimal mark",
    "no-header": "the setting First line",
    "features": "the ticks at the columns",
    "exclude": "the ticks at the columns",
    "scorer": "the setting Scorer",
    "method": "the method",
    "confidence": "the setting Confidence",
    "bootstrap": "the setting Replicates",
    "by": "the setting One answer for each",
    "trust": "the setting Scorer",
}
_NAMES = {"no-header": "header", "exclude": "features", "trust": "scorer"}
_OPTION = re.compile(rf"--({'|'.join(FIELDS)})\b")


class RefusedError(Exception):
    """What a client did that cannot be served, or what the server cannot do now."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field


def for_the_page(sentence: str) -> str:
    """Say a sentence of the library in the words of the page.

    Examples
    --------
    >>> for_the_page("the delimiter is not clear; pass it with --delimiter.")
    'the delimiter is not clear; pass it with the setting Delimiter.'
    """
    # The page can leave nothing out by name: what is not ticked is left out.
    sentence = re.sub(r" with --features, or leave these out with --exclude '.*'\.$", ".", sentence)
    return _OPTION.sub(lambda match: FIELDS[match[1]], sentence)


def field_of(sentence: str) -> str | None:
    """Field of the page that a sentence of the library speaks of.

    Examples
    --------
    >>> field_of("the first line holds only numbers, not column names; pass --no-header.")
    'header'
    """
    match = _OPTION.search(sentence)
    return _NAMES.get(match[1], match[1]) if match else None


def size(n_bytes: float) -> str:
    """Write a size for people.

    Examples
    --------
    >>> size(200_000_000), size(2_500_000_000), size(900)
    ('200 MB', '2.5 GB', '0.9 kB')
    """
    for unit, worth in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= worth:
            return f"{n_bytes / worth:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"
