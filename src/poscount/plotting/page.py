"""One HTML page that needs no other file: what the reports of poscount share."""

from __future__ import annotations

import base64
import html

from poscount.printable import printable

_CSS = """
:root { color-scheme: light dark; --line: #c8c8c8; --soft: #f3f3f3; --quiet: #555; }
:root { background: #fff; color: #1a1a1a; }
@media (prefers-color-scheme: dark) {
  :root { --line: #555; --soft: #262626; --quiet: #aaa; background: #141414; color: #eee; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
.note { color: var(--quiet); font-size: 0.85rem; margin: 0.3rem 0; max-width: 50rem; }
details { margin: 1rem 0; } summary { cursor: pointer; }
figure { margin: 1.5rem 0; } figcaption { color: var(--quiet); font-size: 0.85rem; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
"""


def whole_page(title: str, body: str, css: str = "") -> str:
    """Write a page.

    Parameters
    ----------
    title : str
        Plain text, also the first heading.
    body : str
        HTML.
    css : str
        Rules in addition to those that all pages share.
    """
    title = html.escape(title)
    # Data in it are escaped as HTML by now, but may still change the direction of writing.
    title, body = printable(title), printable(body, lines=True)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
        f"<title>{title}</title>\n<style>{_CSS}{css}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def picture_element(png: bytes, title: str) -> str:
    """Write a figure element with the picture embedded in it.

    Parameters
    ----------
    png : bytes
    title : str
        Plain text below it, also for readers who cannot see it.
    """
    data, title = base64.b64encode(png).decode(), html.escape(title)
    return (
        f'<figure><img alt="{title}" src="data:image/png;base64,{data}" />'
        f"<figcaption>{title}</figcaption></figure>\n"
    )
