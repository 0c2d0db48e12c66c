"""Makes the pictures of this folder, and records in made.json what they were made from.

    python docs/images/made.py                  # those that are stale
    python docs/images/made.py demo.png rcq.png # these, whatever they are

``tests/plotting/test_pictures.py`` compares. What takes seconds is drawn again, and the data in the
picture are compared: numbers and words, so that fonts and versions of matplotlib do not matter.
For the others the sources are compared that the picture depends on. Screenshots of the page
(``web*.png``) are taken by make_web.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib import artist, collections, figure, lines, patches, text

mpl.use("Agg")
FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
RECORD = FOLDER / "made.json"
for place in ("docs/images", ".", "tests"):
    sys.path.append(str(ROOT / place))


class Picture(NamedTuple):
    """How a picture is made.

    Attributes
    ----------
    make : callable
        Writes it into a folder.
    sources : tuple of str
        If it takes long: the files that it depends on, of a page only its code and output.
    """

    make: Callable[[Path], object]
    sources: tuple[str, ...] = ()


def _demo(folder: Path) -> None:
    from poscount.cli.app import app

    with contextlib.redirect_stdout(io.StringIO()):
        app(["demo", "-o", str(folder / "demo.png")], standalone_mode=False)


def _how_wrong(folder: Path) -> None:
    import make_how_wrong

    make_how_wrong.main(folder)


def _rcq(folder: Path) -> None:
    import make_rcq

    make_rcq.main(folder)


def _expected_error(folder: Path) -> None:
    import make_theory

    make_theory.expected_error(folder)


def _classify_and_count(folder: Path) -> None:
    import make_theory

    make_theory.classify_and_count(folder)


def _median_time(folder: Path) -> None:
    import make_theory

    make_theory.median_time(folder)


def _error_by_q(folder: Path) -> None:
    import make_error_by_q

    make_error_by_q.main(folder)


def _case(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        import make_cases

        make_cases.printed(name, folder)

    return make


PICTURES = {
    "demo.png": Picture(_demo),
    "how_wrong.png": Picture(_how_wrong),
    "rcq.png": Picture(_rcq),
    "expected_error.png": Picture(_expected_error),
    "classify_and_count.png": Picture(
        _classify_and_count,
        ("docs/images/make_theory.py", "src/poscount/theory/formulas.py"),
    ),
    "median_time.png": Picture(_median_time, ("docs/images/make_theory.py",)),
    "error_by_q.png": Picture(
        _error_by_q, ("docs/images/make_error_by_q.py", "research/experiments/protocols.py")
    ),
    # The tests run the code of these pages and compare what it prints.
    **{
        f"case_{name}.png": Picture(_case(name), (f"docs/cases/{name}.md",))
        for name in ("sensor", "pulsars", "register", "text")
    },
}


def drawn(picture: Picture, folder: Path) -> str:
    """Make a picture in a folder; the digest of the numbers and words in it."""
    found = []
    save = figure.Figure.savefig

    def saved(self: figure.Figure, *given: Any, **options: Any) -> None:
        found.append(digest("\n".join(_content(self))))
        save(self, *given, **options)

    figure.Figure.savefig = saved
    try:
        picture.make(folder)
    finally:
        figure.Figure.savefig = save
    return found[-1]


def _content(drawing: figure.Figure) -> Iterator[str]:
    """What can be read in a picture, without where fonts put it."""
    for each in drawing.findobj(artist.Artist):
        if isinstance(each, text.Text):
            yield each.get_text()
        elif isinstance(each, lines.Line2D):
            yield _rounded(each.get_xydata())
        elif isinstance(each, collections.PathCollection):
            yield _rounded(each.get_offsets())
        elif isinstance(each, patches.Rectangle) and each.axes is not None:
            yield _rounded([*each.get_xy(), each.get_width(), each.get_height()])


def _rounded(numbers: Any) -> str:
    return " ".join(f"{number:.4g}" for number in np.ma.filled(numbers, np.nan).ravel())


def of_sources(picture: Picture) -> str:
    """Digest of the sources of a picture."""
    parts = []
    for name in picture.sources:
        source = (ROOT / name).read_text(encoding="utf-8")
        parts.append(
            "".join(re.findall(r"^```.*?^```$", source, re.DOTALL | re.MULTILINE))
            if name.endswith(".md")
            else source
        )
    return digest("\n".join(parts))


def digest(content: str | bytes) -> str:
    """The start of its SHA-256."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]


def recorded() -> dict[str, dict[str, str]]:
    """What is recorded about each picture: `file`, and `data` or `sources`."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def state(name: str, folder: Path) -> dict[str, str]:
    """What is true now of a picture: of the file, and of what it would be made from."""
    picture = PICTURES[name]
    file = digest((FOLDER / name).read_bytes()) if (FOLDER / name).exists() else ""
    if picture.sources:
        return {"file": file, "sources": of_sources(picture)}
    return {"file": file, "data": drawn(picture, folder)}


def states() -> dict[str, dict[str, str]]:
    """What is true now of every picture."""
    with tempfile.TemporaryDirectory() as temporary:
        return {name: state(name, Path(temporary)) for name in PICTURES}


def main() -> None:
    """Make the pictures that are named, or all that are stale; or say what is true of them."""
    if sys.argv[1:] == ["--state"]:
        print(json.dumps(states()))
        return
    record = recorded()
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if not sys.argv[1:] and state(name, folder) == record.get(name):
                continue
            data = drawn(PICTURES[name], folder)
            (FOLDER / name).write_bytes((folder / name).read_bytes())
            made = {"file": digest((FOLDER / name).read_bytes())}
            sources = PICTURES[name].sources
            record[name] = made | (
                {"sources": of_sources(PICTURES[name])} if sources else {"data": data}
            )
            print(f"made {name}")
            RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
