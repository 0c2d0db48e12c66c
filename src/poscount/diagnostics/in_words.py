"""Lists in words."""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 5


def listed(names: Iterable[str]) -> str:
    """Name a few, and say how many more there are.

    Examples
    --------
    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    names = list(names)
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
