"""What people do with the page: files as they have them, and the clicks that lead to the answer.

``python tests/people.py`` does all of it in Chromium, and writes each answer beside the truth, with
clicks and seconds, into ``benchmarks/results/page.md``. The tests of the page do some of it.
"""

import argparse
import contextlib
import csv
import datetime
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from workbooks import xlsx

RESULTS = Path(__file__).parents[1] / "benchmarks/results/page.md"

MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
COLUMNS = [*MEASURES, "island", "sex", "year"]
PENGUINS = Path(__file__).with_name("penguins.csv")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def penguins():
    """All of them, in a random order: 73 known Adélies, and the others."""
    with open(PENGUINS, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["body_mass_g"] not in ("", "NA")]
    random.Random(3).shuffle(rows)
    adelies = [row for row in rows if row["species"] == "Adelie"]
    known = adelies[:73]
    return known, [row for row in rows if row not in known]


KNOWN, SURVEY = penguins()
TRUTH = sum(row["species"] == "Adelie" for row in SURVEY)


def table(rows, columns=COLUMNS, names=None, delimiter=",", write=str):
    lines = [delimiter.join(names or columns)]
    lines += [delimiter.join(write(row[name]) for name in columns) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def labelled(rows, **label):
    """Rows with a column that says what is known of some of them."""
    ((name, of_row),) = label.items()
    return table([{**row, name: of_row(row)} for row in rows], [*MEASURES, name])


def file(name, content):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


ADELIES = file("adelie_known.csv", table(KNOWN))
COLONY = file("colony_survey.csv", table(SURVEY))


class Person:
    """Somebody at the page, who counts clicks; choosing files is one."""

    def __init__(self, page):
        self.page, self.clicks, self.began = page, 0, time.monotonic()

    def click(self, selector):
        self.clicks += 1
        self.page.click(selector)

    def choose(self, selector, value):
        self.clicks += 1
        self.page.select_option(selector, value)

    def give(self, *files, to="files"):
        self.clicks += 1
        n = self.page.locator(".file").count()
        self.page.set_input_files(f"#{to}", list(files))
        self.page.locator(".file").nth(n + len(files) - 1).wait_for(state="attached")
        self.settle()

    def settle(self):
        """Wait until no file is read any more."""
        self.page.wait_for_selector("#file-status:empty", state="attached")

    def count(self):
        self.page.wait_for_selector("#count:not([disabled])")
        self.click("#count")
        return self.answer()

    def answer(self):
        self.page.wait_for_selector("#result:not([hidden])")
        self.page.wait_for_selector("#working", state="hidden")
        return self.page.inner_text("#headline .big").replace("\n", " ")

    def next_answer(self, act):
        """Do what changes the answer, and wait until it is there."""
        first = "#downloads li:first-child a"
        before = self.page.get_attribute(first, "href")
        act()
        self.page.locator(f'{first}:not([href="{before}"])').wait_for(state="attached")
        return self.answer()

    def checked(self):
        self.page.locator("#check-status", has_text=re.compile("worst first|nothing")).wait_for()

    def groups(self):
        rows = self.page.locator("table.groups tbody tr").all()
        return {
            row.locator("th").inner_text(): row.locator("td").nth(1).inner_text() for row in rows
        }


def german(value):
    return value.replace(".", ",")


def one_number(person):
    person.give(ADELIES, COLONY)
    return person.count()


def split_by(column):
    def split(person):
        person.give(ADELIES, COLONY)
        person.choose(f'[data-column="{column}"]', f"group:{column}")
        return person.count(), person.groups()

    return split


def files_of_islands(person):
    person.give(ADELIES, to="positives")
    islands = {row["island"] for row in SURVEY}
    parts = [
        file(f"{name}.csv", table([row for row in SURVEY if row["island"] == name]))
        for name in sorted(islands)
    ]
    person.give(*parts, to="unlabeled")
    return person.count(), person.groups()


def against_last_year(person):
    years = {
        year: file(f"{year}.csv", table([row for row in SURVEY if row["year"] == year]))
        for year in ("2008", "2009")
    }
    person.give(ADELIES, to="positives")
    person.give(years["2009"], to="unlabeled")
    person.give(years["2008"], to="reference")
    return person.count(), person.page.inner_text("#compared")


def three_species(person):
    rows = [*KNOWN, *SURVEY]
    random.Random(0).shuffle(rows)
    half = {id(row) for row in rows[::2]}
    species = labelled(rows, species=lambda row: row["species"] if id(row) in half else "")
    person.give(file("species.csv", species))
    person.click("#label-question button:text-is('species')")
    person.settle()
    truth = {
        name: sum(row["species"] == name and id(row) not in half for row in rows)
        for name in ("Adelie", "Gentoo", "Chinstrap")
    }
    return person.count(), "truth: " + ", ".join(f"{name} {n}" for name, n in truth.items())


def register(person, *, negatives=False):
    others = [row for row in SURVEY if row["species"] != "Adelie"][:60] if negatives else []
    seen = {**{id(row): "yes" for row in KNOWN}, **{id(row): "no" for row in others}}
    rows = [*KNOWN, *SURVEY]
    random.Random(0).shuffle(rows)
    content = labelled(rows, seen=lambda row: seen.get(id(row), ""))
    person.give(file("register.csv", content))
    person.click("#label-question button:text-is('seen')")
    person.settle()
    if negatives:
        person.click("#label-question p:nth-of-type(3) button:has-text('no')")
    return person.count()


def negatives_in_a_file(person):
    others = [row for row in SURVEY if row["species"] != "Adelie"]
    person.give(ADELIES, to="positives")
    rest = [row for row in SURVEY if row not in others[:60]]
    person.give(file("survey.csv", table(rest)), to="unlabeled")
    person.give(file("others_known.csv", table(others[:60])), to="negatives")
    return person.count()


def german_files(person):
    names = ["Schnabellänge", "Schnabelhöhe", "Flossenlänge", "Körpermasse"]
    files = [
        file(name, table(rows, MEASURES, names, ";", german).decode().encode("cp1252"))
        for name, rows in (("bekannt.csv", KNOWN), ("erhebung.csv", SURVEY))
    ]
    person.give(*files)
    return person.count(), person.page.inner_text("#data-line")


def portuguese_files(person):
    """A mass such as 3.750,5 in a file of Latin America's Excel, with a title and a total."""
    names = ["comprimento do bico", "altura do bico", "comprimento da asa", "massa média", "região"]

    def rows_of(rows):
        return [{**row, "body_mass_g": f"{float(row['body_mass_g']):,.1f}"} for row in rows]

    def write(value):
        return value.translate(str.maketrans(",.", ".,"))

    files = []
    for name, rows in (("conhecidos.csv", KNOWN), ("contagem.csv", SURVEY)):
        content = table(rows_of(rows), [*MEASURES, "island"], names, ";", write).decode()
        files.append(file(name, f"Censo de aves\n\n{content}Total;;;;\n".encode("cp1252")))
    person.give(*files)
    return person.count(), person.page.inner_text("#data-line")


def notes_above(person):
    notes = b"Colony survey\nby the field team\n\n"
    person.give(ADELIES, file("notes.csv", notes + COLONY["buffer"]))
    return person.count(), person.page.inner_text("#data-line")


def units(person):
    def grams(rows):
        return table([{**row, "body_mass_g": f"{row['body_mass_g']} g"} for row in rows], MEASURES)

    person.give(file("known.csv", grams(KNOWN)), file("survey.csv", grams(SURVEY)))
    return person.count(), person.page.inner_text("#data-line")


def swapped(person):
    person.give(ADELIES, to="unlabeled")
    person.give(COLONY, to="positives")
    wrong = person.count()
    right = person.next_answer(lambda: person.click("#verdict button:has-text('Swap')"))
    return f"{wrong}, after Swap {right}"


def inside(person):
    person.give(ADELIES, file("all.csv", table([*KNOWN, *SURVEY])))
    together = person.count()
    alone = person.next_answer(lambda: person.click("#verdict button:has-text('Leave these out')"))
    return f"{together}, after Leave these out {alone}"


def renamed(person):
    names = ["Bill length mm", "Bill depth (mm)", "Flipper-length-mm", "Body_mass_g "]
    person.give(ADELIES, to="positives")
    person.give(file("renamed.csv", table(SURVEY, MEASURES, names)), to="unlabeled")
    person.click("#column-notes button:has-text('all 4')")
    person.settle()
    return person.count()


def twelve_rows(person):
    person.give(ADELIES, to="positives")
    person.give(file("twelve.csv", table(SURVEY[:12])), to="unlabeled")
    truth = sum(row["species"] == "Adelie" for row in SURVEY[:12])
    return person.count(), f"truth: {truth} of 12"


def one_column(person):
    known, survey = (table(rows, MEASURES[:1]) for rows in (KNOWN, SURVEY))
    person.give(file("known.csv", known), file("survey.csv", survey))
    return person.count()


def two_sheets(person):
    def sheet(rows):
        return [MEASURES, *[[float(row[name]) for name in MEASURES] for row in rows]]

    book = file("book.xlsx", xlsx({"known": sheet(KNOWN), "survey": sheet(SURVEY)}))
    for role, name in (("positives", "known"), ("unlabeled", "survey")):
        person.give(book, to=role)
        person.choose(f"#{role}-files select[aria-label^=Sheet]", name)
        person.settle()
    return person.count()


def fraud(person):
    rng = np.random.default_rng(0)

    def transactions(is_fraud):
        n = len(is_fraud)
        amount = np.where(is_fraud, rng.lognormal(5.5, 0.7, n), rng.lognormal(3.2, 1, n))
        hour = np.where(is_fraud, rng.normal(3, 2, n), rng.normal(14, 4, n)) % 24
        uses = np.where(is_fraud, rng.poisson(9, n), rng.poisson(2, n))
        km = np.where(is_fraud, rng.gamma(4, 200, n), rng.gamma(1.5, 20, n))
        rows = np.column_stack([amount.round(2), hour.round(2), uses, km.round(1)])
        lines = (f"{a:g},{h:g},{u:g},{k:g}\n" for a, h, u, k in rows)
        return ("amount,hour,card_uses,km_from_home\n" + "".join(lines)).encode()

    truth = rng.random(200_000) < 0.012
    frauds = file("frauds.csv", transactions(np.ones(600, bool)))
    person.give(frauds, file("transactions.csv", transactions(truth)))
    return person.count(), f"truth: {truth.sum()}"


def refused_file(person):
    person.clicks += 1
    person.page.set_input_files("#unlabeled", file("bad.csv", b"a,b\n1,2\n3\n" + b"4,5\n" * 9))
    return person.page.inner_text("#unlabeled-files .error")


def labels(person):
    """Label rows until the interval is 8 points wide."""
    person.give(ADELIES, COLONY)
    person.count()
    person.checked()
    person.page.fill("#label-n", "60")
    person.click("#choose-rows")
    label_rows(person)
    more = person.page.locator("#settled button")
    while more.count():
        before = person.page.locator("#to-label tbody tr").count()
        person.clicks += 1
        more.click()
        person.page.locator("#to-label tbody tr").nth(before).wait_for()
        label_rows(person)
    return person.answer(), person.page.inner_text("#settled")


def label_rows(person):
    """Say of each row that has no label what it is."""
    known = {tuple(row[name] for name in MEASURES) for row in SURVEY if row["species"] == "Adelie"}
    rows = person.page.locator("#to-label tbody tr")
    rows.first.wait_for()
    n = rows.count()
    person.page.wait_for_timeout(300)
    for i in range(n):
        row = rows.nth(i)
        if row.locator("input:checked").count() == 0:
            cells = tuple(row.locator("td").all_inner_texts()[1:5])
            person.clicks += 1
            row.locator(f"input[value={'yes' if cells in known else 'no'}]").check()
    person.page.locator("#label-status", has_text=f"{n} of {n} rows are labelled").wait_for()
    person.page.wait_for_function(
        """() => { const box = document.querySelector("#settled");
          const seen = [box.textContent, Date.now()];
          if (!window.seen || window.seen[0] !== seen[0]) { window.seen = seen; }
          return box.textContent && Date.now() - window.seen[1] > 1500; }"""
    )


def report(person):
    person.give(ADELIES, COLONY)
    answer = person.count()
    person.checked()
    person.click("#share-change")
    return answer, f"{pages(person.page)} page of A4"


def pages(page):
    """How many pages the report has on paper."""
    paper = page.pdf(format="A4", prefer_css_page_size=True)
    return int(re.search(rb"/Count (\d+)", paper)[1])


def header_by_click(person):
    """The first row of numbers has years, which look like names of columns."""
    lines = table(SURVEY, MEASURES).decode().split("\n", 1)[1]
    known = table(KNOWN, MEASURES).decode().split("\n", 1)[1]
    names = ",".join(MEASURES)
    above = "bill,bill,flipper,body\n"
    files = [
        file(name, f"{above}{names}\n{text}".encode())
        for name, text in (("known.csv", known), ("survey.csv", lines))
    ]
    for to, each in zip(("positives", "unlabeled"), files, strict=True):
        person.clicks += 1
        person.page.set_input_files(f"#{to}", each)
        item = f"#{to}-files"
        person.page.wait_for_selector(f"{item} .file")
        person.settle()
        if person.page.locator(f"{item} .error").count():
            person.click(f"{item} .raw button:has-text('row 2')")
            person.settle()
    return person.count(), person.page.inner_text("#columns-line")


def example(name):
    def act(person):
        person.click(f"#try-{name}")
        answer = person.answer()
        truth = person.page.locator("#truth")
        return answer, truth.inner_text() if truth.count() else ""

    return act


PEOPLE = {
    "penguins, one number": one_number,
    "by island": split_by("island"),
    "by year": split_by("year"),
    "one file per island": files_of_islands,
    "against last year": against_last_year,
    "three species": three_species,
    "register with a label column": register,
    "register with yes, no and empty": lambda person: register(person, negatives=True),
    "known negatives in a file": negatives_in_a_file,
    "200,000 transactions": fraud,
    "two sheets": two_sheets,
    "German files": german_files,
    "notes above the header": notes_above,
    "Portuguese files with a title and a total": portuguese_files,
    "a row above the names": header_by_click,
    "units in cells": units,
    "swapped": swapped,
    "positives inside the sample": inside,
    "renamed columns": renamed,
    "12 rows": twelve_rows,
    "one column": one_column,
    "labels until the range is 8 points wide": labels,
    "report on paper": report,
    "example: insects": example("example"),
    "example: register": example("register"),
    "example: three species": example("species"),
    "refused file": refused_file,
}


@contextlib.contextmanager
def server():
    """Start the server, and give its link."""
    command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait()


def chromium(playwright):
    """The same without what only people need takes half of the time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    return path and playwright.chromium.launch(executable_path=path, args=list(QUIET))


def tried(browser, link):
    """Do everything, each with a page of its own: lines of a table."""
    for name, act in PEOPLE.items():
        page = browser.new_page()
        page.goto(link)
        page.wait_for_selector("body[data-ready]")
        person = Person(page)
        found = act(person)
        seconds = time.monotonic() - person.began
        answer, more = found if isinstance(found, tuple) else (found, "")
        if isinstance(more, dict):
            more = "; ".join(f"{group}: {count}" for group, count in more.items())
        sure = page.locator("p.range")
        between = re.search(
            r"between ([\d,]+ and [\d,]+)", sure.inner_text() if sure.count() else ""
        )
        verdict = page.locator("#verdict b")
        said = verdict.inner_text().strip(" .") if verdict.count() else ""
        cells = [name, answer, between[1] if between else "", said, person.clicks, f"{seconds:.1f}"]
        yield f"| {' | '.join(map(str, [*cells, more]))} |".replace("\N{NO-BREAK SPACE}", " ")
        page.close()


def adelies_by(column):
    found = Counter(row[column] for row in SURVEY if row["species"] == "Adelie")
    return ", ".join(f"{value} {n}" for value, n in sorted(found.items()))


def main():
    """Write the table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=RESULTS)
    target = parser.parse_args().to
    lines = []
    with server() as link, sync_playwright() as playwright:
        browser = chromium(playwright)
        for line in tried(browser, link):
            print(line, flush=True)
            lines.append(line)
        browser.close()
    text = [
        "# People at the page",
        "",
        "`python tests/people.py` clicks in Chromium as each of these people would, and writes "
        f"this table ({datetime.date.today()}; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} "
        "cores, so seconds are longer than on a quiet machine). Choosing files is one click.",
        "",
        f"Unless something else is said, {len(KNOWN)} Adélies are known, and the truth is {TRUTH} "
        f"others among {len(SURVEY)} penguins: {adelies_by('island')}; {adelies_by('year')}. "
        "With two sheets, one column or a label column, island, sex and year are not given.",
        "",
        "| who | answer | between | verdict | clicks | seconds | more |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        "[Five states before and after the page was rewritten](page-before-after.png).",
    ]
    target.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
