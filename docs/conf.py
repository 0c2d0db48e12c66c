"""The site: ``python -m sphinx -W --keep-going -n docs docs/_build`` builds it, offline."""

import re
import sys
from pathlib import Path

import poscount
from poscount import registry

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "poscount"
author = "The poscount developers"
copyright = author
version = release = poscount.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "api_links",
    "gallery_by_use",
    "results_table",
]
exclude_patterns = ["_build", "reproduction/**report.md", "gallery", "Thumbs.db"]
templates_path = ["_templates"]
nitpicky = True
# A name in single backticks is a link if it has a page, and otherwise stays what it is: most are
# parameters, and objects of other libraries, whose inventories are on the network.
default_role = "autolink"
nitpick_ignore_regex = [("py:obj", ".*")]

myst_enable_extensions = ["alert", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
# The tables of parameters have the types, in words.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks = {"GL06", "GL07", "GL08", "PR02", "PR03", "SS01", "SS06"}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "gallery_by_use.ByUse",
    # Pictures and what is printed; not what an expression happens to be.
    "capture_repr": (),
    "thumbnail_size": (480, 320),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    # That page would load its style and scripts from another host.
    "write_computation_times": False,
}

# Commands and code, not what they print.
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre, div.doctest pre"
copybutton_prompt_text = ">>> |\\.\\.\\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"poscount {version}"
html_static_path = ["_static"]
html_css_files = ["poscount.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "poscount"},
    "navigation_with_keys": False,
    # All pages are in the sidebar, under the headings of index.md.
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"**": ["contents"]}
html_context = {"default_mode": "auto"}


def write_quantifiers():
    """List the methods of the registry on a page, before Sphinx looks for pages."""
    lines = ["Quantifiers", "===========", ""]
    for title, reusable in (("Reusable", True), ("Transductive", False)):
        lines += [title, "-" * len(title), "", ".. currentmodule:: poscount"]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        for place in registry.METHODS.values():
            module, _, name = place.partition(":")
            if (".pu." not in module) == reusable:
                lines.append(f"   {name}")
        lines.append("")
    page = Path(__file__).with_name("quantifiers.rst")
    text = "\n".join(lines)
    # Only if it is new, so that Sphinx does not read it again each time.
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


write_quantifiers()


def files_are_downloads(app, docname, source):
    """Let links to files that are no pages of the site lead to the files themselves."""
    pattern = (
        r"\]\(((?:\.\./)+(?:benchmarks|examples|research)/[\w/-]+\.\w+|"
        r"(?:reproduction/)?report\.md)(?:#[\w-]+)?\)"
    )
    source[0] = re.sub(pattern, r"](path:\1)", source[0])


def setup(app):
    """Tell Sphinx."""
    app.connect("source-read", files_are_downloads)
