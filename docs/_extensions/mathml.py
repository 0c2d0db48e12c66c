"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)

# docutils puts the index of a letter with a hat below the letter, as if it were a limit.
_HAT_AND_INDEX = re.compile(
    r"<munderover>\s*(<mi>\w</mi>)\s*(<mi>\w+</mi>)\s*"
    r'(<mo stretchy="false">[ˆˉ]</mo>)\s*</munderover>'
)


def _mathml(node: nodes.Element, formula: str, as_block: bool) -> str:
    try:
        drawn = tex2mathml(formula, as_block=as_block)
    except MathError as error:
        logger.warning("%s in the formula %s", error, formula, location=node)
        return f"<code>{escape(formula)}</code>"
    return _HAT_AND_INDEX.sub(r"<msub><mover accent='true'>\1\3</mover>\2</msub>", drawn)


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(_mathml(node, node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula that has its own line, or several with empty lines between."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    for formula in node.astext().split("\n\n"):
        if pick_math_environment(formula) == "align*":
            formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
        translator.body.append(_mathml(node, formula, as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
