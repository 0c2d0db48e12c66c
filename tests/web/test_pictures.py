"""The pictures of the page in the documentation are those of the present page."""

import importlib.util
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"


def test_the_pictures_of_the_page_are_not_out_of_date():
    spec = importlib.util.spec_from_file_location("make_web", IMAGES / "make_web.py")
    make_web = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_web)
    recorded = make_web.FINGERPRINT.read_text().strip()
    assert recorded == make_web.fingerprint(), (
        "The page has changed since its pictures were taken: run python docs/images/make_web.py, "
        "and look at them."
    )
    assert all((IMAGES / name).exists() for name in (*make_web.SIZES, "web-columns.png"))
