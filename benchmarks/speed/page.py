"""Measure the page of `poscount serve`: its weight, and the time to the first answer.

The time is from the click on "Try the built-in example" to the answer on the page, in a browser
and on a server that are both running; beside it, in turn, is that of ``poscount estimate`` on the
same files, which begins with the start of Python. It needs ``poscount[web]``, playwright and
Chromium.

    python -m benchmarks.speed.page --repeats 5
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time

from playwright.sync_api import sync_playwright

from poscount.example import example_path

POSCOUNT = (sys.executable, "-m", "poscount")
FILES = (str(example_path("positives.csv")), str(example_path("trap.csv.gz")))


def main():
    """Print bytes, seconds and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    server = subprocess.Popen(
        [*POSCOUNT, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = re.search(r"http://\S+", server.stdout.readline())[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                args=["--no-sandbox"],
            )
            n_bytes, n_requests = weight(browser, address)
            clicks, commands = [], []
            for _ in range(repeats):
                clicks.append(seconds_to_answer(browser, address))
                commands.append(seconds_of_command())
            browser.close()
    finally:
        server.terminate()
        server.wait()
    print(f"first load: {n_bytes:,} bytes in {n_requests} requests")
    click, command = statistics.median(clicks), statistics.median(commands)
    print(f"click to answer: {click:.2f} s (median of {repeats})")
    print(f"poscount estimate: {command:.2f} s")
    print(f"ratio: {click / command:.2f}")


def opened(browser, address):
    """Open the page in a browser that has kept nothing."""
    page = browser.new_context().new_page()
    page.set_default_timeout(300_000)
    return page


def weight(browser, address):
    """Bytes that come over the wire until the page can be used, headers included."""
    page = opened(browser, address)
    sizes = []
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.context.close()
    return int(sum(sizes)), len(sizes)


def seconds_to_answer(browser, address):
    """Time from the click to the answer."""
    page = opened(browser, address)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    began = time.perf_counter()
    page.click("#try-example")
    page.wait_for_selector("#result:not([hidden])")
    seconds = time.perf_counter() - began
    # The check of the assumptions would slow down what is measured next.
    page.wait_for_selector("#scores svg")
    page.context.close()
    return seconds


def seconds_of_command():
    """Time of the same on the command line."""
    began = time.perf_counter()
    command = [*POSCOUNT, "estimate", *FILES, "--method", "rcq", "--by", "night"]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
