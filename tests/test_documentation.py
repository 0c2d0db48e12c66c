"""The site builds without a warning, its links lead somewhere, and it needs no other host."""

import html
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import poscount
from poscount import engines, example, plotting

sys.path.append(str(Path(__file__).parents[1] / "docs" / "_extensions"))
import gallery_by_use

ROOT = Path(__file__).parents[1]
GALLERY = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
# What pages link to outside of the site: each once. There is no network in the tests; whether they
# still answer is asked by ``python -m sphinx -b linkcheck docs docs/_build/links``.
LINKS = {
    "https://arxiv.org/abs/2004.10356",
    "https://doi.org/10.1007/978-3-030-10925-7_17",
    "https://www.sphinx-doc.org/",  # in the foot of every page
}
# Wide tables and code scroll by themselves; if anything else is too wide, the article does.
OVERHANG = """() => {
    const article = document.querySelector(".bd-article-container");
    return article.scrollWidth - article.clientWidth;
}"""
LOADING = {"audio", "embed", "iframe", "img", "script", "source", "track", "video"}
STARTS_WITH_A_HOST = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """What a page loads, what it links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors = set(), set(), set()
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") not in {"canonical", "next", "prev", "search"}:
            self.loads.add(given.get("href", ""))
        elif tag in LOADING:
            sources = given.get("srcset", "").split(",")
            self.loads |= {given.get("src", ""), *(each.strip() for each in sources)}
        elif tag == "object":
            self.loads.add(given.get("data", ""))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Build the site from a copy, so that the gallery runs anew, and once."""
    for library in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "sphinx_gallery"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("documentation")
    generated = shutil.ignore_patterns("_build", "auto_gallery", "generated")
    for name in ("docs", "examples", "benchmarks", "research"):
        shutil.copytree(ROOT / name, folder / name, ignore=generated)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    command = ["-W", "--keep-going", "-n", "-q", "-b", "html", "docs", "site"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *command],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, folder / "site"


@pytest.fixture(scope="module")
def site(build):
    return build[1]


@pytest.fixture(scope="module")
def pages(site):
    return {
        path: Page(path) for path in sorted(site.rglob("*.html")) if "_downloads" not in str(path)
    }


def test_the_site_builds_without_a_warning(build):
    done, site = build
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (site / "index.html").exists()


def test_no_page_loads_anything_from_another_host(site, pages):
    for path, page in pages.items():
        assert not [load for load in page.loads if STARTS_WITH_A_HOST.match(load)], path
    for path in site.rglob("*.css"):
        style = path.read_text(encoding="utf-8")
        named = re.findall(r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)", style)
        assert not [name for pair in named for name in pair if STARTS_WITH_A_HOST.match(name)], path


def test_the_check_sees_what_a_page_loads(tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<script src="https://cdn.example/x.js"></script><a href="#x">x</a>')
    page = Page(path)
    assert page.loads == {"https://cdn.example/x.js", ""}
    assert page.links == {"#x"}


def test_links_inside_the_site_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if STARTS_WITH_A_HOST.match(link) or link.startswith("mailto:"):
                continue
            place = (path.parent / unquote(target)).resolve() if target else path
            known = pages.get(place)
            if not place.exists() or (anchor and known and unquote(anchor) not in known.anchors):
                broken.append((path.name, link))
    assert broken == []


def test_links_to_other_hosts_are_known(pages):
    found = {
        urldefrag(link).url
        for page in pages.values()
        for link in page.links
        if STARTS_WITH_A_HOST.match(link)
    }
    assert found == LINKS
    assert all(link.startswith("https://") for link in found)


@pytest.fixture(scope="module")
def browser(unavailable):
    sync_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        unavailable("there is no Chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


def test_no_page_is_wider_than_a_phone(site, browser):
    written = [*site.glob("*.html"), *site.glob("reproduction/*.html"), *site.glob("cases/*.html")]
    without_article = {"genindex", "py-modindex", "search"}
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.route("**/*.js*", lambda route: route.abort())  # takes long, and moves nothing
    overhang = {}
    for each in written:
        if each.stem not in without_article:
            page.goto(each.as_uri())
            overhang[each.stem] = page.evaluate(OVERHANG)
    page.close()
    assert {name: more for name, more in overhang.items() if more > 0} == {}


def test_the_picture_that_moves_follows_its_controls(site, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "how-it-works.html").as_uri())
    said = page.get_by_role("status").last
    first = said.inner_text()
    page.get_by_role("slider").first.press("End")
    assert "The truth is 100 %." in said.inner_text() != first
    for _ in range(7):
        page.get_by_role("slider").first.press("ArrowLeft")
    page.get_by_role("slider").last.press("End")
    # The two answers that the text of the page quotes.
    quoted = re.search(r"from (\d+ %) to (\d+ %)", page.locator("article").inner_text())
    assert f"RCQ allows for chance, and says {quoted[1]}" in said.inner_text()
    page.get_by_role("checkbox").last.check()
    assert f"RCQ allows for chance, and says {quoted[2]}" in said.inner_text()
    assert page.evaluate(OVERHANG) <= 0
    page.close()
    assert errors == []


def test_formulas_are_drawn_by_the_browser(site, pages):
    theory = pages[site / "theory.html"].text
    assert theory.count("<math") > 30
    assert "$$" not in theory
    assert not [path for path, page in pages.items() if "MathJax" in page.text]


def test_everything_public_has_a_page(site):
    public = {
        f"{module.__name__}.{name}"
        for module in (poscount, engines, example, plotting)
        for name in module.__all__
        if callable(getattr(module, name))
    }
    assert public <= {path.stem for path in (site / "generated").glob("*.html")}


def test_the_first_mention_of_a_class_links_to_its_page(site, pages):
    text = pages[site / "choosing.html"].text.partition("<article")[2]
    assert text.count("generated/poscount.MultiRCQ.html") == 1
    assert "generated/poscount.trend.html" not in text  # a command, too


@pytest.mark.parametrize("name", [name for name in plotting.__all__ if name.endswith("Display")])
def test_every_display_is_in_the_gallery(name):
    assert any(name in path.read_text(encoding="utf-8") for path in GALLERY)


def test_every_example_of_the_gallery_has_a_picture(site):
    for path in GALLERY:
        assert (site / "_images" / f"sphx_glr_{path.stem}_001.png").exists()


def test_the_gallery_has_parts_and_a_sentence_for_each_picture(site):
    index = (site / "auto_gallery" / "index.html").read_text(encoding="utf-8")
    places = [index.index(f">{title}<") for title in gallery_by_use.PARTS]
    assert places == sorted(places)
    for part in gallery_by_use.PARTS.values():
        for sentence in part.values():
            assert sentence in html.unescape(index)
    assert sorted(gallery_by_use.NAMES) == [path.stem for path in GALLERY]


def test_no_object_address_is_shown(pages):
    assert not [path for path, page in pages.items() if re.search(r" at 0x[0-9a-f]{6}", page.text)]
