"""The page of `poscount serve` in a real browser."""

import contextlib
import gzip
import hashlib
import itertools
import os
import re
import shutil

import numpy as np
import pytest

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytest.importorskip("fastapi")

from bad_files import BAD_FILES  # noqa: E402
from poscount import RCQ  # noqa: E402
from poscount.example import example_path, load_example  # noqa: E402
from web_server import TOKEN, served  # noqa: E402
from workbooks import xlsx  # noqa: E402

POSITIVES, TRAP = str(example_path("positives.csv")), str(example_path("trap.csv.gz"))
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
SIZES = {"desktop": (1280, 800, "light"), "phone": (390, 844, "dark")}
# How a state is looked at; what does not depend on colours is checked once for each size.
LOOKS = (
    *((1280, 800, "dark", ["color-contrast"]), (390, 844, "light", ["color-contrast"])),
    *((390, 844, "dark", None), (1280, 800, "light", None)),
)


@pytest.fixture(scope="module")
def chromium(unavailable):
    # The first is the same without what only people need, and takes half of the time.
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        unavailable("there is no Chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(chromium, address, size="desktop", expected=()):
    """Open the page as somebody new, and see to it that nothing odd happens there."""
    width, height, scheme = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(60_000)
    page = context.new_page()
    complaints, foreign = [], []
    page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    ours = (address.partition("?")[0], "file://")
    page.on("request", lambda r: foreign.append(r.url) if not r.url.startswith(ours) else None)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()
    # The browser itself notes every refusal by the server, which the page then explains.
    noted = [text for text in complaints if not (expected and "status of" in text)]
    assert noted == []
    assert foreign == []


@pytest.fixture
def page(chromium, web):
    with opened(chromium, web.link) as page:
        yield page


@pytest.fixture
def wary_page(chromium, web):
    """A page on which refusals are expected."""
    with opened(chromium, web.link, expected=("refusals",)) as page:
        yield page


@pytest.fixture(scope="module")
def example_page(chromium, web):
    """The answer for the example; tests that share it leave its files and choices alone."""
    with opened(chromium, web.link) as page:
        page.click("#try-example")
        table(page)
        yield page


@pytest.fixture
def answered(example_page):
    open_tab(example_page, "answer")
    example_page.fill("#filter", "")
    return example_page


def send(page, role, *files):
    page.set_input_files(f"#{role}", list(files))
    last = files[-1]["name"] if isinstance(files[-1], dict) else os.path.basename(files[-1])
    page.wait_for_selector(f"#file-status:has-text('{last} is read')")


def choices(page):
    """What each column is used for, by its name."""
    selects = page.locator("#columns select").all()
    return {select.get_attribute("data-column"): select.input_value() for select in selects}


def choose(page, column, value):
    page.select_option(f'#columns select[data-column="{column}"]', value)


def used(page):
    return [name for name, value in choices(page).items() if value == "use"]


def notes(page):
    """What is said about single columns."""
    return page.locator("#columns .note").all_inner_texts()


def made_up(name, content):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def table(page):
    """The table of results: label -> cells; of groups without the rows of all of them together."""
    try:
        page.wait_for_selector("#result:not([hidden])")
    except sync_api.TimeoutError:
        pytest.fail(f"There is no answer on the page: {page.inner_text('main')}")
    rows = page.locator("#rows tr")
    found = {
        rows.nth(i).locator("th").inner_text(): rows.nth(i).locator("td").all_inner_texts()
        for i in range(rows.count())
    }
    groups = {name: cells for name, cells in found.items() if not name.startswith("all rows")}
    return groups or found


def checked(page):
    """Wait for the report, and give what it comes to."""
    status = page.locator("#diagnosis-status", has_text="The assumptions are checked: ")
    status.wait_for(state="attached")
    return status.inner_text()


TABS = ("data", "answer", "belief", "compare", "report", "code")


def open_tab(page, name):
    page.click(f"#tab-{name}")
    page.wait_for_selector(f"#panel-{name}:not([hidden])")


def serious(page, rules=None):
    options = {"runOnly": rules} if rules else {}
    found = axe.Axe().run(page, options=options).response["violations"]
    return [(v["id"], v["nodes"]) for v in found if v["impact"] in ("serious", "critical")]


def look(page):
    """See to it that what is shown can be read: on a desk and a phone, in light and dark."""
    for width, height, scheme, rules in LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        # Nothing sticks out sideways but what scrolls by itself, and nobody scrolls for ever.
        wide, tall = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        )
        assert wide <= width
        assert tall < 12_000
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('p, li, td, th, label, code')]"
            ".filter((e) => e.offsetParent).map((e) => parseFloat(getComputedStyle(e).fontSize)))"
        )
        assert smallest >= 14
        if folder := os.environ.get("POSCOUNT_SHOTS"):
            # For people, who see more than a test does.
            name = f"{len(os.listdir(folder)):03}-{width}-{scheme}.png"
            page.screenshot(path=f"{folder}/{name}", full_page=width < 1000)
        assert serious(page, rules) == []


def test_the_example_is_one_click_away_legible_and_accessible(chromium, web):
    with opened(chromium, web.link) as page:
        look(page)
        page.click("#example")
        shown = table(page)
        truth = load_example("pyarrow").truth.to_pylist()
        assert list(shown) == [night["night"] for night in truth]
        for night in truth:
            assert f"{100 * night['positives'] / night['rows']:.1f} %" in shown[night["night"]]
        picture = page.locator("#picture svg")
        assert picture.locator(".dot").count() == 9
        assert "In 9 groups" in picture.get_attribute("aria-label")
        for name in TABS:
            open_tab(page, name)
            page.eval_on_selector_all(
                "details", "all => all.forEach((one) => { one.open = true; })"
            )
            look(page)


def test_files_columns_groups_and_downloads(page, tmp_path):
    data = load_example("pyarrow")
    assert page.is_hidden("#columns-section")
    send(page, "positives", POSITIVES)
    assert page.is_disabled("#estimate")
    assert page.inner_text("#lacking") == "Add a file of unlabeled rows."
    send(page, "unlabeled", TRAP)
    assert len(used(page)) == 8
    assert "It is missing in positives.csv. Rows can be grouped by it." in notes(page)
    choose(page, "night", "group:night")
    assert page.inner_text("#chosen") == "8 columns are used; one answer for each night."
    page.click("#estimate")
    model = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap)
    expected = model.quantify_groups(data.trap, "night")
    shown = table(page)
    assert {label: cells[0] for label, cells in shown.items()} == {
        night: f"{100 * p:.1f} %" for (night,), p in expected.items()
    }
    assert "truth" not in page.inner_text("#heads")
    assert "poscount fit positives.csv" in page.inner_text("#command")
    assert "--by night" in page.inner_text("#command")
    open_tab(page, "belief")
    page.click("text=What the model did with each column")
    assert page.locator("#model-columns tr").count() == 8
    assert "wingbeat_hz" in page.inner_text("#model-columns")
    checked(page)
    assert "--positives positives.csv" in page.inner_text("#diagnose")
    open_tab(page, "report")
    for link in page.locator("#downloads a").all():
        with page.expect_download() as waiting:
            link.click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.stat().st_size > 500
    assert {path.name for path in tmp_path.iterdir()} == {
        *("poscount-result.csv", "poscount-result.json", "poscount-report.html"),
        *("poscount-model.poscount", "poscount-prevalence.svg", "poscount-prevalence.png"),
        "poscount-diagnosis.html",
    }
    for name, words in (("report", "2026-01-20"), ("diagnosis", "What to do|cannot see")):
        page.goto(f"file://{tmp_path}/poscount-{name}.html")
        assert re.search(words, page.inner_text("body"))
        assert serious(page) == []


def register(n, weight="weight"):
    """A table with a column of each kind, with gaps in two of them."""
    rows = [f"patient_id,{weight},smoker,site,visit,note"]
    for i in range(n):
        size = "" if i % 10 == 0 else f"{60 + 7 * i % 31}.5"
        site = ["north", "south", "", "east"][i % 4]
        rows.append(f"P{i},{size},{'yes' if i % 3 else 'no'},{site},2026-0{1 + i % 6}-11,room {i}")
    return "\n".join(rows).encode()


def test_a_file_is_shown_with_its_columns_as_soon_as_it_is_there(chromium, web):
    with opened(chromium, web.link, "phone") as page:
        send(page, "positives", made_up("p.csv", register(40)))
        assert "p.csv (positives): the first 10 of 40 rows" in page.inner_text("#previews")
        cells = page.locator("#previews tbody tr").first.locator("td").all_inner_texts()
        assert cells == ["P0", "missing", "no", "north", "2026-01-11", "room 0"]
        assert choices(page) == {
            "patient_id": "none",
            "weight": "use",
            "smoker": "use",
            "site": "use",
            "note": "none",
        }
        send(page, "unlabeled", made_up("u.csv", register(80)))
        assert page.locator("#previews details").count() == 2
        kinds = page.locator("#columns .kind").all_inner_texts()
        assert kinds == [
            *("identifier", "number", "category, 2 values", "category, 3 values", "date"),
            "free text",
        ]
        gaps = page.locator("#columns .about").all_inner_texts()
        told = "missing in 10.0 % of the positives, 10.0 % of the unlabeled rows"
        assert [told in text for text in gaps] == [False, True, False, False, False, False]
        assert "25.0 % of the unlabeled rows" in gaps[3]
        offered = page.locator('#columns select[data-column="visit"] option').all_inner_texts()
        assert offered == [
            *("as group: each value", "as group: each day", "as group: each week"),
            *("as group: each month", "as group: each year", "not used"),
        ]
        assert "It looks like an identifier." in notes(page)
        look(page)


def test_what_does_not_match_is_said_beside_the_column(page):
    send(page, "positives", made_up("p.csv", register(40)))
    send(page, "unlabeled", made_up("u.csv", register(40, weight=" Weight")))
    problem = page.locator("#columns .note.error")
    assert problem.all_inner_texts() == [
        "u.csv has no column 'weight'; did you mean ' Weight'? Give it the same name in all files."
    ]
    assert "weight" not in choices(page)
    # What was chosen stays when the file is replaced.
    choose(page, "site", "none")
    page.click("[aria-label='Remove u.csv']")
    page.wait_for_selector("#lacking:has-text('Add a file of unlabeled rows.')")
    send(
        page,
        "unlabeled",
        made_up("v.csv", register(40).replace(b"yes", b"1").replace(b"no,", b"0,")),
    )
    assert choices(page)["weight"] == "use"
    assert choices(page)["site"] == "none"
    assert problem.all_inner_texts() == [
        "p.csv has words such as 'no' in the column 'smoker', but v.csv has numbers such as '0'. "
        "Write them in the same way in both files."
    ]
    assert choices(page)["smoker"] == "none"
    assert page.is_enabled("#estimate")


def test_a_sheet_of_a_workbook_is_chosen_beside_the_file(wary_page):
    page = wary_page
    body = [[float(60 + 7 * i % 31), float(i % 13)] for i in range(60)]
    book = made_up(
        "book.xlsx", xlsx({"known": [["a", "b"], *body], "all": [["a", "b"], *body[:40]]})
    )
    for role, sheet in (("positives", "known"), ("unlabeled", "all")):
        page.set_input_files(f"#{role}", book)
        page.wait_for_selector(f"#{role}-error:has-text('several sheets')")
        choice = page.locator(f"#{role}-sheets").get_by_label("Sheet of book.xlsx")
        assert choice.locator("option").all_inner_texts() == ["choose a sheet", "known", "all"]
        assert serious(page) == []
        choice.select_option(sheet)
        page.wait_for_selector(f"#{role}-files li")
        assert page.inner_text(f"#{role}-error") == ""
    assert "book.xlsx: 60 rows" in page.inner_text("#positives-files")
    assert "40 rows" in page.inner_text("#unlabeled-files")
    page.click("#estimate")
    assert table(page)["all rows"][3] == "40"
    assert "sheet='known'" in page.text_content("#python")


def test_signs_units_and_dates_are_read_by_the_settings(page):
    rows = [f"{i % 17}.5 g,{i % 5 or '-'},0{1 + i % 9}/0{1 + i % 8}/2026" for i in range(60)]
    messy = "\n".join(["weight,score,day", *rows]).encode()
    send(page, "positives", made_up("p.csv", messy))
    send(page, "unlabeled", made_up("u.csv", messy))
    assert page.is_disabled("#estimate")
    told = " ".join(notes(page))
    assert "Write “weight=g” into the setting Units" in told
    assert "Write “-” into the setting Signs of missing values." in told
    assert "Use the setting Dates such as 03/04/2026." in told
    page.click("text=How your files are written")
    for field, text in (("units", "weight=g"), ("na", "-")):
        page.fill(f"#{field}", text)
        page.locator(f"#{field}").blur()
        page.wait_for_selector("#file-status:has-text('u.csv is read')")
    page.select_option("#day_first", "true")
    page.wait_for_selector("#estimate:enabled")
    assert used(page) == ["weight", "score"]
    choose(page, "day", "group:month(day)")
    assert page.inner_text("#chosen") == "2 columns are used; one answer for each month of day."


def test_a_button_beside_a_problem_reads_only_its_files_again(wary_page):
    page = wary_page
    rows = example_path("positives.csv").read_text()
    send(page, "positives", made_up("p.csv", rows.encode()))
    german = rows.replace(",", ";").replace(".", ",")
    send(page, "unlabeled", made_up("u.csv", german.encode()))
    assert page.is_disabled("#estimate")
    look(page)
    # It is also beside the button that does not work because of the problem.
    page.click("#lacking-fixes .fix")
    page.wait_for_selector("#estimate:enabled")
    assert page.locator(".fix").count() == 0
    assert len(used(page)) == 8
    page.click("#estimate")
    assert table(page)["all rows"][3] == "400"
    assert "read_options = ReadOptions(decimal=',')" in page.text_content("#python")


def test_a_chart_tells_values_and_shows_a_part(answered):
    page = answered
    chart = page.locator("#picture svg")
    chart.focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator("#picture .tip")
    assert "2026-01-12" in tip.inner_text()
    assert "truth: 0.0 %" in tip.inner_text()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 90, steps=4)
    page.mouse.up()
    assert 2 < page.locator("#picture svg .dot").count() < 9
    page.click("text=Show all")
    assert page.locator("#picture svg .dot").count() == 9


def test_groups_are_looked_for_and_sorted(answered):
    page = answered
    page.fill("#filter", "-01-2")
    assert list(table(page)) == ["2026-01-20"]
    page.fill("#filter", "")
    page.click("#heads button:has-text('share')")
    assert list(table(page))[:1] == ["2026-01-20"]
    assert page.get_attribute("#heads th:nth-child(2)", "aria-sort") == "descending"
    rows = sum(night["rows"] for night in load_example("pyarrow").truth.to_pylist())
    assert f"{rows:,}" in page.inner_text("#rows")


def test_methods_side_by_side(page):
    page.click("#example")
    table(page)
    choose(page, "night", "none")
    page.click("#estimate")
    page.wait_for_selector("#rows tr:only-child")
    open_tab(page, "compare")
    page.click("#compare")
    page.wait_for_selector("#compare:enabled", timeout=60_000)
    heads = page.locator("#compared-heads th").all_inner_texts()
    assert set(heads) == {"sample", "RCQ", "BBE", "DEDPUL", "PAT", "TRCQ"}
    # The answer is still there.
    open_tab(page, "report")
    with page.expect_download():
        page.click("#downloads a >> nth=0")


def test_one_answer_shows_its_scores(page):
    rows = example_path("positives.csv").read_bytes()
    send(page, "positives", POSITIVES)
    send(page, "unlabeled", made_up("u.csv", rows))
    page.click("#estimate")
    assert list(table(page)) == ["all rows"]
    assert page.locator("#picture svg .sample-bar").count() == 40
    assert page.inner_text("#share") == table(page)["all rows"][0]


def test_the_report_has_a_title_notes_and_fingerprints(answered, chromium, tmp_path):
    page = answered
    open_tab(page, "report")
    page.fill("#report-title", "Traps of <b>January</b>")
    page.fill("#report-notes", "First.\n\nSecond.")
    page.click("#write-report")
    with page.expect_download() as waiting:
        page.click("text=Download the report")
    path = tmp_path / "report.html"
    waiting.value.save_as(path)
    look(page)
    digest = hashlib.sha256(example_path("positives.csv").read_bytes()).hexdigest()
    with contextlib.closing(chromium.new_page()) as report:
        report.goto(f"file://{path}")
        assert report.inner_text("h1") == "Traps of <b>January</b>"
        for words in (digest, "Second.", "dos Reis"):
            assert words in report.inner_text("body")
        look(report)


def test_a_session_is_saved_to_a_file_and_opened_by_somebody_else(chromium, web, tmp_path):
    path = tmp_path / "s.poscount-session"
    with opened(chromium, web.link) as page:
        send(page, "positives", POSITIVES)
        send(page, "unlabeled", TRAP)
        choose(page, "night", "group:night")
        choose(page, "peak_mv", "none")
        page.click("#estimate")
        before = table(page)
        with page.expect_download() as waiting:
            page.click("#save-session")
        waiting.value.save_as(path)
    with opened(chromium, web.link) as page:
        page.set_input_files("#open-session", str(path))
        assert table(page) == before
        assert len(used(page)) == 7
        page.set_input_files("#open-session", POSITIVES)
        page.wait_for_selector("#general-error:has-text('not a session')")


def test_files_without_a_common_column_leave_nothing_to_estimate(page):
    send(page, "positives", made_up("p.csv", b"a,b\n" + b"1.5,2\n" * 30))
    send(page, "unlabeled", made_up("u.csv", b"c,d\n" + b"1.5,2\n" * 30))
    assert page.is_disabled("#estimate")
    assert "No column can be used yet" in page.inner_text("#lacking")
    assert notes(page)[:2] == ["It is missing in u.csv."] * 2


def test_too_few_positives_are_said_before_anything_is_estimated(page):
    rows = b"a,b\n" + b"".join(b"%d.5,%d.25\n" % (i % 7, i % 11) for i in range(40))
    send(page, "positives", made_up("p.csv", b"\n".join(rows.splitlines()[:9])))
    send(page, "unlabeled", made_up("u.csv", rows))
    assert page.is_disabled("#estimate")
    assert page.inner_text("#lacking") == "RCQ needs at least 10 positives, but p.csv has 8."
    page.click("text=Method and settings")
    page.select_option("#method", "dedpul")
    assert page.is_enabled("#estimate")


def test_findings_are_told_in_words_and_shapes_the_worst_first(page):
    # Half of the positives are around 0 and half around 6, where all negatives are, too.
    rng = np.random.default_rng(0)

    def rows(*groups):
        values = np.vstack([rng.normal(size=(n, 3)) + centre for centre, n in groups])
        return b"a,b,c\n" + b"".join(b"%.6f,%.6f,%.6f\n" % tuple(row) for row in values)

    send(page, "positives", made_up("p.csv", rows((0, 250), (6, 250))))
    send(page, "unlabeled", made_up("u.csv", rows((0, 150), (6, 150), (6, 700))))
    page.click("#estimate")
    # The answer does not wait for the report.
    assert list(table(page)) == ["all rows"]
    assert re.search(r"\d reasons? to doubt the answer|no reason to doubt", checked(page))
    open_tab(page, "belief")
    told = page.locator("#findings .finding")
    words = [told.nth(i).locator("strong").inner_text() for i in range(told.count())]
    severities = [re.match(r"(✖Do not use|▲Check|●Note): .", text)[1] for text in words]
    assert severities == sorted(severities, key=["✖Do not use", "▲Check", "●Note"].index)
    assert "What to do: " in told.first.inner_text()
    told.first.locator("summary").click()
    assert "It cannot see " in told.first.inner_text()
    page.click("#unfound-title")
    assert "✓OK: " in page.inner_text("#unfound-list")
    assert "1,000 unlabeled rows" in page.inner_text("#diagnosis-rows")
    assert serious(page) == []


def test_columns_and_methods_can_be_chosen(page):
    page.click("#example")
    table(page)
    choose(page, "peak_mv", "none")
    page.click("text=Method and settings")
    page.select_option("#method", "tice")
    choose(page, "night", "none")
    assert "answer to the earlier choices" in page.inner_text("#outdated")
    assert page.is_hidden("#scorer")
    page.fill("#bootstrap", "4")
    page.fill("#random_state", "11")
    page.click("#estimate")
    page.wait_for_selector("#rows tr:only-child")
    command = page.inner_text("#command")
    assert "poscount estimate positives.csv trap.csv.gz --method tice --features" in command
    assert "--bootstrap 4 --random-state 11" in command
    assert "peak_mv" not in command


def test_the_page_asks_what_only_the_user_knows(page):
    page.click("#example")
    table(page)
    page.click("text=Method and settings")
    assert page.input_value("#recognisable") == ""
    assert "recognisable" not in page.text_content("#command")
    question = (
        "Could somebody who knows the field nearly always tell a positive from these columns?"
    )
    assert page.inner_text("#recognisable-hint") == question
    page.select_option("#recognisable", label="often not")
    assert "answer to the earlier choices" in page.inner_text("#outdated")
    page.click("#estimate")
    page.wait_for_selector("#command:has-text('--recognisable no')", state="attached")
    assert "could often not tell a positive" in page.text_content("#made")
    # The choice stays when the page is loaded again, and other methods are not asked.
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.input_value("#recognisable") == "false"
    page.click("text=Method and settings")
    page.select_option("#method", "pat")
    assert page.is_hidden("#recognisable")
    assert page.is_hidden("#tolerance")
    choose(page, "night", "none")
    page.click("#estimate")
    page.wait_for_selector("#command:has-text('--method pat')", state="attached")
    assert "recognisable" not in page.text_content("#command")


def test_every_kind_of_bad_file_is_explained_beside_its_field(wary_page):
    page = wary_page
    roles = itertools.cycle(["unlabeled", "positives"])
    for role, (name, (content, _)) in zip(roles, BAD_FILES.items(), strict=False):
        page.set_input_files(f"#{role}", made_up(name, content))
        error = page.locator(".error", has_text=f"{name}: ")
        error.wait_for()
        assert error.count() == 1
        field = error.get_attribute("id").removesuffix("-error")
        assert field in (role, "delimiter", "header", "encoding")
        assert error.is_visible()
        assert page.get_attribute(f"#{field}", "aria-invalid") == "true"
        assert error.get_attribute("id") in page.get_attribute(f"#{field}", "aria-describedby")
        assert page.locator(f"#{role}-files li").count() == 0
        assert page.is_hidden("#estimate") or page.is_disabled("#estimate")
    for role in ("positives", "unlabeled"):
        send(page, role, POSITIVES)
    assert page.locator(".error:visible").count() == 0


def test_a_csv_setting_reads_the_file_again(wary_page):
    page = wary_page
    german = example_path("positives.csv").read_text().replace(",", ";").replace(".", ",")
    send(page, "positives", made_up("p.csv", german.encode()))
    send(page, "unlabeled", made_up("u.csv", german.encode()))
    assert used(page) == []
    assert len(notes(page)) == 8
    assert all("Change the setting Decimal mark" in note for note in notes(page))
    assert page.locator("#columns .fix").all_inner_texts() == ["Decimal mark: comma: 0,5"] * 8
    assert page.is_disabled("#estimate")
    assert "No column can be used yet" in page.inner_text("#lacking")
    page.click("text=How your files are written")
    page.select_option("#decimal", ",")
    page.wait_for_selector("#estimate:enabled")
    assert (len(used(page)), notes(page)) == (8, [])
    page.click("#estimate")
    assert list(table(page)) == ["all rows"]


def test_an_error_in_the_settings_stands_beside_the_setting(wary_page):
    page = wary_page
    page.click("#example")
    table(page)
    page.click("text=Method and settings")
    page.fill("#confidence", "7")
    page.click("#estimate")
    page.wait_for_selector("#confidence-error:has-text('less than 1')")
    page.fill("#confidence", "")
    page.click("#use-none")
    assert used(page) == []
    assert page.is_disabled("#estimate")
    assert page.inner_text("#lacking") == "Choose at least one column to use."
    page.click("#use-all")
    assert (len(used(page)), choices(page)["night"]) == (8, "group:night")
    assert page.is_enabled("#estimate")


def test_a_file_that_is_too_large_is_not_even_sent(chromium):
    with served(upload_bytes=1_000_000) as web, opened(chromium, web.link) as page:
        page.set_input_files("#unlabeled", made_up("big.csv", b"a\n" + b"1\n" * 600_000))
        page.wait_for_selector("#unlabeled-error:has-text('big.csv is larger than 1 MB')")
        assert web.files() == []


def test_names_from_files_are_text(page):
    name = "<img src=x onerror=alert(1)>"
    column = b"<b>bold</b>,b\n" + b"".join(b"%d.5,%d.25\n" % (i % 7, i % 11) for i in range(80))
    send(page, "positives", made_up("p.csv", column))
    page.set_input_files("#unlabeled", made_up(f"{name}.csv", column))
    page.wait_for_selector("#unlabeled-files li")
    assert name in page.inner_text("#unlabeled-files")
    page.click("#estimate")
    page.wait_for_selector("#result:not([hidden])")
    assert page.locator("#columns b, main img[onerror]").count() == 0


def test_two_people_at_once_do_not_mix(chromium, web):
    with opened(chromium, web.link) as one, opened(chromium, web.link) as two:
        rows = example_path("positives.csv").read_bytes().splitlines(keepends=True)
        send(one, "positives", POSITIVES)
        send(two, "positives", POSITIVES)
        send(one, "unlabeled", made_up("one.csv", b"".join(rows[:200])))
        send(two, "unlabeled", made_up("two.csv", b"".join(rows[:300])))
        one.click("#estimate")
        two.click("#estimate")
        assert table(one)["all rows"][3] == "199"
        assert table(two)["all rows"][3] == "299"
        assert "two.csv" not in one.inner_text("body")
        assert "one.csv" not in two.inner_text("body")


def test_long_work_shows_progress_and_can_be_cancelled(page):
    page.click("#example")
    table(page)
    page.click("text=Method and settings")
    page.select_option("#method", "extice")
    page.fill("#bootstrap", "1000")
    page.click("#estimate")
    page.wait_for_selector("#status:has-text('Working')")
    assert page.is_visible("#progress")
    # It goes on for as long as somebody looks.
    told = {"state": "running", "step": "counting trap.csv.gz", "fraction": 0.4, "position": None}

    def running(route):
        if route.request.method == "GET":
            route.fulfill(json=told)
        else:
            route.continue_()

    page.route("**/estimates/*", running)
    page.wait_for_selector("#status:has-text('Working: counting trap.csv.gz')")
    assert page.locator("#progress").evaluate("bar => bar.value") == 0.4
    look(page)
    page.click("#cancel")
    page.wait_for_selector("#outdated:has-text('Cancelled. This is the answer from before.')")
    page.wait_for_selector("#cancel", state="hidden")
    page.unroute("**/estimates/*")
    assert len(table(page)) == 9
    look(page)
    page.select_option("#method", "pat")
    page.click("#estimate")
    page.wait_for_selector("#made:has-text('PAT')", state="attached")
    assert len(table(page)) == 9


def test_everything_works_with_the_keyboard_alone(page):
    def focused():
        return page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def focused_column():
        return page.evaluate("document.activeElement.dataset.column")

    def go_to(wanted):
        for _ in range(80):
            page.keyboard.press("Tab")
            if focused() == wanted:
                return
        raise AssertionError(f"{wanted} cannot be reached")

    # Listening from the start: the browser must know of it before the key is pressed.
    choosers = []
    page.on("filechooser", lambda chooser: choosers.append(chooser))
    for role, file in (("positives", POSITIVES), ("unlabeled", TRAP)):
        go_to(role)
        page.keyboard.press("Space")
        while not choosers:
            page.wait_for_timeout(50)
        choosers.pop().set_files(file)
        page.wait_for_selector(f"#{role}-files li")
    page.wait_for_selector("#estimate:enabled")
    while focused_column() != "night":
        page.keyboard.press("Tab")
    page.keyboard.press("Home")
    go_to("Method and settings")
    page.keyboard.press("Enter")
    go_to("random_state")
    page.keyboard.press("Control+a")
    page.keyboard.type("5")
    go_to("estimate")
    page.keyboard.press("Enter")
    assert len(table(page)) == 9
    assert focused() == "result-title"
    assert "seed 5" in page.inner_text("#made")
    while focused() != "tab-answer":
        page.keyboard.press("Tab")
    while focused() != "tab-report":
        page.keyboard.press("ArrowRight")
    go_to("report.html")
    with page.expect_download():
        page.keyboard.press("Enter")


def test_files_can_be_dropped(page):
    page.evaluate(
        """text => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], "dropped.csv"));
          document.querySelector('#dropping [data-role="positives"]')
            .dispatchEvent(
              new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        example_path("positives.csv").read_text(),
    )
    page.wait_for_selector("#positives-files li:has-text('dropped.csv: 400 rows')")


def test_leaving_the_page_deletes_the_session(chromium):
    with served(leave_seconds=0.5) as web, opened(chromium, web.link) as page:
        send(page, "positives", POSITIVES)
        (mine,) = web.service.sessions.root.iterdir()
        page.goto("about:blank")
        page.wait_for_timeout(1500)
        assert not mine.exists()


def test_a_page_that_is_loaded_again_has_its_files_choices_and_answer(chromium, web):
    with opened(chromium, web.link) as page:
        send(page, "positives", POSITIVES)
        send(page, "unlabeled", TRAP)
        choose(page, "night", "group:night")
        choose(page, "peak_mv", "none")
        page.click("text=Method and settings")
        page.select_option("#method", "pat")
        page.fill("#random_state", "7")
        page.click("#estimate")
        before = table(page), choices(page), checked(page)
        page.reload()
        assert (table(page), choices(page), checked(page)) == before
        assert page.input_value("#method") == "pat"
        assert page.input_value("#random_state") == "7"
        assert "seed 7" in page.inner_text("#made")
        assert "trap.csv.gz: " in page.inner_text("#unlabeled-files")
        # What is there can be used as before: read in another way, removed, estimated.
        page.click("text=How your files are written")
        page.fill("#na", "-999")
        page.locator("#na").blur()
        page.wait_for_selector("#file-status:has-text('trap.csv.gz is read')")
        assert "answer to the earlier choices" in page.inner_text("#outdated")
        page.click("#estimate")
        page.wait_for_selector("#outdated:empty", state="attached")
        assert len(table(page)) == 9
        page.click("[aria-label='Remove trap.csv.gz']")
        page.wait_for_selector("#lacking:has-text('Add a file of unlabeled rows.')")
        # An answer about files that are gone does not come back.
        page.reload()
        page.wait_for_selector("#positives-files li")
        assert page.is_hidden("#result")


def test_an_estimate_goes_on_while_the_page_is_loaded_again(chromium, web):
    with opened(chromium, web.link) as page:
        page.click("#example")
        table(page)
        page.click("text=Method and settings")
        page.select_option("#method", "extice")
        page.fill("#bootstrap", "1000")
        page.click("#estimate")
        page.wait_for_selector("#status:has-text('Working')")
        page.reload()
        page.wait_for_selector("#status:has-text('Working')")
        page.click("#cancel")
        page.wait_for_selector("#outdated:has-text('Cancelled.')")


def test_nobody_else_gets_the_session_of_a_page(chromium, web):
    with opened(chromium, web.link) as mine, opened(chromium, web.link) as other:
        send(mine, "positives", POSITIVES)
        name = mine.evaluate("JSON.parse(sessionStorage.poscount).session")
        assert name not in mine.url
        assert TOKEN not in mine.url
        (cookie,) = mine.context.cookies()
        assert (cookie["value"], cookie["httpOnly"], cookie["sameSite"]) == (TOKEN, True, "Strict")
        assert len(name) >= 32
        other.reload()
        other.wait_for_selector("body[data-ready]")
        assert other.evaluate("JSON.parse(sessionStorage.poscount).session ?? null") is None
        assert other.locator("#positives-files li").count() == 0
        # Another tab of the same browser starts anew, too.
        tab = mine.context.new_page()
        tab.goto(web.address)
        tab.wait_for_selector("body[data-ready]")
        assert tab.locator("#positives-files li").count() == 0


def test_a_session_that_is_gone_leaves_an_empty_page(chromium, web):
    with opened(chromium, web.link, expected=("refusals",)) as page:
        send(page, "positives", POSITIVES)
        web.http.delete(
            f"/api/sessions/{page.evaluate('JSON.parse(sessionStorage.poscount).session')}"
        )
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#positives-files li").count() == 0
        send(page, "positives", POSITIVES)


def test_a_session_that_expired_is_said_to_be(chromium, web):
    with opened(chromium, web.link, expected=("refusals",)) as page:
        page.click("#example")
        table(page)
        name = page.evaluate("JSON.parse(sessionStorage.poscount).session")
        web.service.sessions.close(web.service.sessions._sessions[name])
        page.set_input_files("#unlabeled", TRAP)
        page.wait_for_selector("#unlabeled-error:has-text('expired')")
        page.click("#example")
        assert len(table(page)) == 9


def test_several_targets_are_named_by_a_column(page):
    rng = np.random.default_rng(0)

    def rows(centre, n, *more):
        body = rng.normal(size=(n, 3)) + centre
        return [",".join([*(f"{value:.4f}" for value in row), *more]) for row in body]

    known = ["a,b,c,species", *rows(0, 200, "one"), *rows(4, 200, "two")]
    sample = ["a,b,c,day"]
    for day in (1, 2):
        sample += [*rows(0, 50, f"2026-01-0{day}"), *rows(4, 150, f"2026-01-0{day}")]
    send(page, "positives", made_up("p.csv", "\n".join(known).encode()))
    send(page, "unlabeled", made_up("u.csv", "\n".join(sample).encode()))
    choose(page, "species", "targets")
    choose(page, "day", "group:day")
    page.click("#estimate")
    shown = table(page)
    assert list(shown) == [
        f"2026-01-0{day}, {target}" for day in (1, 2) for target in ("one", "two", "other")
    ]
    low, high = (float(end) for end in re.findall(r"[0-9.]+(?= %)", shown["2026-01-01, one"][1]))
    assert low <= 25 <= high
    assert page.locator("#picture svg rect.part").count() == 6
    assert "the 6 shares" in page.inner_text("#verdict")
    look(page)
    assert page.is_hidden("#tab-compare")
    assert "--target-column species" in page.inner_text("#command")


def test_changes_are_looked_for(answered):
    page = answered
    open_tab(page, "change")
    page.select_option("#trend-by", "day(night)")
    page.click("#find-trend")
    page.wait_for_selector("#trend:not([hidden])")
    assert "A slope: +" in page.inner_text("#trend-summary")
    assert page.locator("#trend-picture svg .changed").count() >= 1
    look(page)


def test_another_sample_is_compared_with(answered, tmp_path):
    page = answered
    shown = table(page)
    rows = example_path("trap.csv.gz").read_bytes()
    open_tab(page, "change")
    assert page.is_disabled("#compare-samples")
    half = gzip.decompress(rows).decode().splitlines(keepends=True)
    early = [half[0], *(line for line in half[1:] if line < "2026-01-17")]
    page.set_input_files("#reference", made_up("early.csv", "".join(early).encode()))
    page.wait_for_selector("#compare-samples:enabled")
    page.click("#compare-samples")
    page.wait_for_selector("#comparison:not([hidden])")
    told = page.inner_text("#difference")
    assert re.fullmatch(
        r"trap.csv.gz has [0-9.]+ points more positives than early.csv "
        r"\(95 % interval [0-9.]+ to [0-9.]+ points\)\.",
        told,
    )
    assert "Chance alone does not explain this." in page.inner_text("#comparison-sentence")
    assert page.locator("#comparison-picture .dot").count() == 2
    look(page)
    # The answer is still that of the files that it was made from.
    assert page.inner_text("#outdated") == ""
    open_tab(page, "answer")
    assert table(page) == shown
    open_tab(page, "change")
    page.click("[aria-label='Remove early.csv']")
    page.wait_for_selector("#compare-samples:disabled")


def test_back_and_reload_lead_to_the_tab_that_was_open(answered):
    page = answered
    open_tab(page, "report")
    open_tab(page, "code")
    page.go_back()
    page.wait_for_selector("#panel-report:not([hidden])")
    page.reload()
    page.wait_for_selector("#panel-report:not([hidden])")
    assert len(answered.locator("#rows tr").all()) == 1 + 9


def test_more_groups_than_fit_are_shown_in_parts(page):
    known = [f"{i % 17}.5,{i % 13}.25" for i in range(60)]
    sites = [f"{i % 17}.5,{i % 13}.25,site {i % 150:03}" for i in range(1500)]
    send(page, "positives", made_up("p.csv", "\n".join(["a,b", *known]).encode()))
    send(page, "unlabeled", made_up("u.csv", "\n".join(["a,b,site", *sites]).encode()))
    choose(page, "site", "group:site")
    page.click("#estimate")
    assert list(table(page)) == [f"site {i:03}" for i in range(60)]
    dots = page.locator("#picture .chart .dot")
    assert dots.count() == 60
    assert page.locator("#picture .strip .sample-bar").count() == 150
    page.click("#picture >> text=Next")
    assert "61 to 120 of 150" in page.inner_text("#picture .pager")
    strip = page.locator("#picture .strip svg").bounding_box()
    page.mouse.click(strip["x"] + strip["width"] - 20, strip["y"] + 10)
    assert "91 to 150 of 150" in page.inner_text("#picture .pager")
    page.click("#picture >> text=Show all")
    assert dots.count() == 150
    page.click("#rows-pager >> text=Next")
    page.click("#rows-pager >> text=Next")
    assert list(table(page)) == [f"site {i:03}" for i in range(120, 150)]
    # Numbers with many values are measurements: nobody wants a group for each.
    assert page.locator("#columns select[data-column='a'] option").all_inner_texts() == [
        *("use it", "as group: each value", "not used")
    ]
    look(page)


def test_how_far_a_file_is_read_is_told_in_percent(page):
    send(page, "positives", POSITIVES)
    told = [{"name": "positives.csv", "fraction": 0.42}]
    page.route("**/reading", lambda route: route.fulfill(json=told))
    held = []
    page.route("**/files/*", lambda route: held.append(route))
    page.click("text=How your files are written")
    page.fill("#na", "-999")
    page.locator("#na").blur()
    page.wait_for_selector("#file-status:has-text('positives.csv: reading, 42 % …')")
    held[0].continue_()
    page.wait_for_selector("#file-status:has-text('positives.csv is read')")


def test_labels_settle_the_share(answered):
    page = answered
    open_tab(page, "audit")
    page.fill("#audit-n", "40")
    page.click("#choose-rows")
    page.wait_for_selector("#label-rows tr")
    assert page.locator("#label-rows tr").count() == 40
    assert page.is_disabled("#settle")
    for i in range(40):
        page.check(f'input[name="label-{i}"][value="no"]')
    page.click("#settle")
    page.wait_for_selector("#settlement:not([hidden])")
    told = page.inner_text("#settled")
    assert " are positive, 0.0 to " in told
    assert "by 40 label(s)" in told
    assert "contradict the model" in page.inner_text("#agreement")
    look(page)


def test_a_server_that_is_gone_is_said_to_be_and_the_answer_stays(chromium, web):
    with opened(chromium, web.link, expected=("refusals",)) as page:
        send(page, "positives", POSITIVES)
        send(page, "unlabeled", POSITIVES)
        page.click("#estimate")
        before = table(page)
        checked(page)
        page.route("**/api/**", lambda route: route.fulfill(status=502, body="<html>"))
        page.click("#estimate")
        page.wait_for_selector("#general-error:has-text('cannot be read (status 502)')")
        assert "This is the answer from before." in page.inner_text("#outdated")
        assert table(page) == before
        look(page)
        page.unroute("**/api/**")
