"""What all pictures share: a base class, matplotlib, colours, and the bytes of a picture file."""

from __future__ import annotations

import io
from typing import Any, Literal, Self

# Okabe and Ito's palette, which colour-blind readers can tell apart, strongest contrast first.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#000000", "#56B4E9", "#E69F00", "#8C8C8C")
# Shapes tell the lines apart when they are printed in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class Display:
    """A picture on matplotlib axes; the classmethods of its subclasses draw it.

    Attributes
    ----------
    ax_, figure_
        The axes drawn on, and their figure.
    """

    ax_: Any
    figure_: Any

    @classmethod
    def _on(cls, ax: Any, size: tuple[float, float]) -> Self:
        """Display on the caller's axes, or on those of a new figure if None."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display

    def _finish(
        self,
        *,
        xlabel: str | None = None,
        ylabel: str | None = None,
        title: str | None = None,
        grid: Literal["x", "y", "both"] = "both",
    ) -> Self:
        """Add labels, a title, a light grid and a legend."""
        if xlabel:
            self.ax_.set_xlabel(xlabel)
        if ylabel:
            self.ax_.set_ylabel(ylabel)
        if title:
            self.ax_.set_title(title)
        self.ax_.legend(frameon=False, loc="best")
        light(self.ax_, grid)
        return self


def light(ax: Any, grid: Literal["x", "y", "both"] = "both") -> None:
    """Draw a light grid instead of a box around the axes."""
    ax.grid(axis=grid, alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)


def pyplot() -> Any:
    """The pyplot of matplotlib, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "poscount[plot]".') from error
    return plt


def plain(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign starts no formula."""
    return text.replace("$", r"\$")


def png(figure: Any, dpi: int = 110) -> bytes:
    """Draw a figure as PNG; the same figure gives the same bytes."""
    from PIL import Image  # comes with matplotlib

    out = io.BytesIO()
    # No date and no version in the file.
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    small = io.BytesIO()
    # 64 colours are enough for lines and letters, and take a quarter of the space. The octree keeps
    # the colour of a single thin line, which Pillow's default method mixes with others.
    picture = Image.open(out).convert("RGB").quantize(64, Image.Quantize.FASTOCTREE)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()
