"""A figure as the bytes of a small picture file."""

from __future__ import annotations

import io
from typing import Any


def png(figure: Any, dpi: int = 110) -> bytes:
    """Draw a figure as PNG; the same figure gives the same bytes."""
    from PIL import Image  # comes with matplotlib

    out = io.BytesIO()
    # No date and no version in the file.
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    small = io.BytesIO()
    # 64 colours are enough for lines and letters, and take a quarter of the room. The octree keeps
    # the colour of a single thin line, which Pillow's default method mixes with others.
    picture = Image.open(out).convert("RGB").quantize(64, Image.Quantize.FASTOCTREE)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()
