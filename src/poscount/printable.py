"""Text from data, made safe to show: nothing in it acts on a terminal, and it has an end."""

from __future__ import annotations

import re

# Control characters, invisible ones, those that change the direction of writing, those that end a
# line or paragraph, and halves of characters, which files with damaged names have.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_ACTING_WITHIN_LINES = re.compile(_ACTING.pattern.replace("[\x00-\x1f", "[\x00-\x09\x0b-\x1f"))


def printable(text: str, *, lines: bool = False) -> str:
    r"""Write characters that would act on a terminal, or hide, as escapes.

    Parameters
    ----------
    text : str
    lines : bool
        Whether line ends are meant and stay.

    Examples
    --------
    >>> print(printable("red \x1b[31m and\nnew, ä stays"))
    red \x1b[31m and\nnew, ä stays
    """
    pattern = _ACTING_WITHIN_LINES if lines else _ACTING
    return pattern.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, most: int) -> str:
    """Leave out the middle of a text that is too long for a sentence.

    Examples
    --------
    >>> shortened("a file name of reasonable length", 40)
    'a file name of reasonable length'
    >>> shortened("0" * 1000 + " is not a number.", 50)
    '00000000000000000000000000 [...] is not a number.'
    """
    if len(text) <= most:
        return text
    kept = most - len(" [...] ")
    tail = kept * 2 // 5
    return f"{text[: kept - tail].rstrip()} [...] {text[-tail:].lstrip()}"


def in_a_sentence(text: str, most: int) -> str:
    r"""Escape a text, and leave out its middle if it is too long for a sentence.

    Examples
    --------
    >>> print(in_a_sentence("\0" * 4_000_000, 42))
    \x00\x00\x00\x00\x00\ [...] 00\x00\x00\x00
    """
    # First cut, because to escape millions of characters takes seconds.
    return shortened(printable(shortened(text, most)), most)
