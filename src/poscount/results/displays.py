"""Displays by their names, for results that draw themselves.

A picture imports the results that it shows. So that these need not import it, they ask for it here,
when it is to be drawn.
"""

from __future__ import annotations

import importlib
from typing import Any


def display(name: str) -> Any:
    """A class of `poscount.plotting`.

    Examples
    --------
    >>> display("TrendDisplay").__name__
    'TrendDisplay'
    """
    return getattr(importlib.import_module("poscount.plotting"), name)
