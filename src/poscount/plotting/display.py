"""What all pictures share: a base class, matplotlib, colours, and the bytes of a picture file."""

from __future__ import annotations

import io
import os
from typing import Any, Literal, Self

from poscount.errors import InputError
from poscount.printable import in_a_sentence

# Okabe and Ito's palette, which colour-blind readers can tell apart, strongest contrast first.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#000000", "#56B4E9", "#E69F00", "#8C8C8C")
# Shapes tell the lines apart when they are printed in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Characters of a label: a longer one would leave no room for the picture.
_MOST_LABEL = 80


class Display:
    """A picture on matplotlib axes; the classmethods of its subclasses draw it.

    Attributes
    ----------
    ax_, figure_
        The axes drawn on, and their figure.
    """

    ax_: Any
    figure_: Any

    def __repr__(self) -> str:
        # A notebook shows it below the picture.
        return f"{type(self).__name__}()"

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
        **legend: Any,
    ) -> Self:
        """Add labels, a title, a light grid and a legend; `legend` are options of matplotlib's."""
        if xlabel:
            self.ax_.set_xlabel(xlabel)
        if ylabel:
            self.ax_.set_ylabel(ylabel)
        if title:
            self.ax_.set_title(title)
        self.ax_.legend(frameon=False, **legend)
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


def plain(text: str, most: int = _MOST_LABEL) -> str:
    """Text from data as matplotlib shows it: on one line, not endless, and never a formula."""
    return in_a_sentence(text, most).replace("$", r"\$")


def picture_format(path: str | os.PathLike[str]) -> str:
    """The format that the extension of a picture's name stands for.

    Examples
    --------
    >>> picture_format("nights.PNG")
    'png'
    """
    pyplot()  # raises an error that says how to install it
    from matplotlib.backend_bases import FigureCanvasBase

    kind = os.path.splitext(path)[1].lower()[1:]
    if kind not in FigureCanvasBase.filetypes:
        raise InputError(
            "its extension names no format of pictures; use .png, .svg or .pdf.",
            file=os.fspath(path),
        )
    return kind


def picture(figure: Any, kind: str, dpi: int) -> bytes:
    """Draw a figure in a format such as "png" or "svg"; the same figure gives the same bytes."""
    if kind == "png":
        return png(figure, dpi)
    out = io.BytesIO()
    # Without the date, which is of no use in a picture.
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(out, format=kind, dpi=dpi, metadata=dateless)
    return out.getvalue()


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
