"""Takes the pictures of docs/web.md: the page with its example, on a desk and on a phone.

Run it with ``python docs/images/make_web.py``; it needs ``poscount[web]``, playwright and Chromium.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SIZES = {"web.png": (1280, 1150, "light"), "web-phone.png": (390, 844, "dark")}


def main():
    """Start a server, click on the example, wait for the report, take the pictures."""
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
            browser.close()
    finally:
        server.terminate()
        server.wait()


def take(browser, address, name, width, height, scheme):
    """Take one picture, from the answer downwards."""
    view = {"width": width, "height": height}
    page = browser.new_page(viewport=view, color_scheme=scheme)
    page.goto(address)
    page.click("#example", timeout=60_000)
    page.wait_for_selector("#diagnosis-status:has-text('are checked')", timeout=120_000)
    page.locator("#picture img").evaluate("image => image.decode()")
    page.locator("#result-title").evaluate("title => title.scrollIntoView()")
    page.screenshot(path=HERE / name)
    page.close()


if __name__ == "__main__":
    main()
