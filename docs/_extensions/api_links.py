"""The first mention of a class or function on a page links to its page of the API."""

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import poscount

# Words such as `load` and `trend` are commands, too.
NAMES = {name for name in poscount.__all__ if name != name.lower() or "_" in name.strip("_")}
LINKS = (nodes.reference, addnodes.pending_xref, addnodes.download_reference)
ELSEWHERE = ("generated/", "auto_gallery/", "reproduction/")


def inside(node, kinds):
    """Whether a node is in one of some kinds, at any depth."""
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


class FirstMentions(SphinxTransform):
    """Make a link of the first literal with a public name."""

    default_priority = 500

    def apply(self, **kwargs):
        """Look at all literals of a page but those in headings and links."""
        docname = self.env.docname
        if docname.startswith(ELSEWHERE):
            return
        left = set(NAMES)
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removesuffix("()")
            if name in left and not inside(literal, (nodes.title, *LINKS)):
                left.remove(name)
                link = addnodes.pending_xref("", refdomain="py", reftype="obj", refexplicit=True)
                link["reftarget"] = f"poscount.{name}"
                literal.replace_self(link)
                link += literal


def setup(app):
    """Tell Sphinx."""
    app.add_transform(FirstMentions)
    return {"parallel_read_safe": True}
