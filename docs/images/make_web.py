"""Takes the pictures of the page: the columns of a register, and the answer for the example.

Run it with ``python docs/images/make_web.py``; it needs ``poscount[web]``, playwright and Chromium.
It also writes `web.sha256`, by which a test notices that the page has changed since.
"""

import hashlib
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "src/poscount/web/static"
FINGERPRINT = HERE / "web.sha256"
SIZES = {"web.png": (1280, 800, "light"), "web-phone.png": (390, 844, "dark")}


def fingerprint():
    """What the pictures depend on: the files of the page, and this script."""
    digest = hashlib.sha256()
    for path in (*sorted(STATIC.iterdir()), Path(__file__)):
        digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def main():
    """Start a server, and take all pictures."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", server.stdout.readline())[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                args=["--headless", "--no-sandbox"],
            )
            for name, size in SIZES.items():
                take(browser, address, name, *size)
            take_columns(browser, address)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    FINGERPRINT.write_text(f"{fingerprint()}\n")


def take(browser, address, name, width, height, scheme):
    """Click on the example, wait for the check of its assumptions, and take a picture."""
    view = {"width": width, "height": height}
    page = browser.new_page(viewport=view, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    page.click("#try-example")
    page.wait_for_selector("#scores svg", timeout=120_000)
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=HERE / name)
    page.close()


def take_columns(browser, address):
    """Send two files that do not quite match, and take a picture of their columns."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    for role, name, content in (
        ("positives", "register.csv", register("weight")),
        ("unlabeled", "ward.csv", register("Weight ")),
    ):
        file = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
        page.set_input_files(f"#{role}", file)
        page.wait_for_selector(f"#{role}-files .file:has-text('rows')")
    page.select_option('#grid select[data-column="visit"]', "group:month(visit)")
    page.wait_for_function("document.querySelector('#columns').offsetHeight > 500")
    page.locator("#columns").evaluate("part => part.scrollIntoView({behavior: 'instant'})")
    page.screenshot(path=HERE / "web-columns.png")
    page.close()


def register(weight):
    """Make up a table with a column of each kind, with gaps in two of them."""
    draw = random.Random(0)
    rows = [f"patient_id,age,{weight},smoker,site,visit,remark"]
    for i in range(300):
        age, smoker = draw.randint(20, 80), draw.choice(["yes", "no"])
        size = "" if draw.random() < 0.05 else f"{draw.gauss(70, 9):.1f}"
        site = draw.choice(["north", "south", "east", "n/a"])
        visit = f"2026-{draw.randint(1, 6):02}-{draw.randint(1, 28):02}"
        rows.append(f"P{1000 + i},{age},{size},{smoker},{site},{visit},seen in room {i}")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
