"""What all pictures share: matplotlib itself, and colours that everybody can tell apart."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette, which colour-blind readers can tell apart, darkest contrast first.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#000000", "#56B4E9", "#E69F00", "#8C8C8C")
# A second sign beside the colour, for print in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def pyplot() -> Any:
    """The pyplot of matplotlib, or a sentence that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "poscount[plot]".') from error
    return plt


def plain(text: str) -> str:
    """Text of a user as matplotlib shows it unchanged: a dollar sign starts no formula."""
    return text.replace("$", r"\$")
