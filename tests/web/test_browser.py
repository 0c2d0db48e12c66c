"""The page of `poscount serve` in a real browser."""

import contextlib
import csv
import os
import re

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytest.importorskip("fastapi")

import people  # noqa: E402
from people import ADELIES, COLONY, SURVEY, TRUTH, Person, file, table  # noqa: E402
from poscount.example import load_example  # noqa: E402
from web_server import served  # noqa: E402

SIZES = {"desktop": (1280, 800, "light"), "phone": (390, 844, "dark")}
# How a state is looked at; what does not depend on colours is checked once for each size.
LOOKS = (
    *((1280, 800, "dark", ["color-contrast"]), (390, 844, "light", ["color-contrast"])),
    *((390, 844, "dark", None), (1280, 800, "light", None)),
)


@pytest.fixture(scope="module")
def chromium(unavailable):
    with sync_api.sync_playwright() as playwright:
        browser = people.chromium(playwright)
        if browser is None:
            unavailable("there is no Chromium on this machine: apt-get install chromium")
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(chromium, address, size="desktop", expected=(), clock=False):
    """Open the page as somebody new, and see to it that nothing odd happens there."""
    width, height, scheme = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(180_000)
    page = context.new_page()
    if clock:
        page.clock.install()
    complaints, foreign = [], []
    page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    ours = (address.partition("?")[0], "blob:")
    page.on("request", lambda r: foreign.append(r.url) if not r.url.startswith(ours) else None)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    yield page
    # Wherever a test ends: what is there can be used by everybody.
    if page.url.startswith(ours[0]):
        assert complaints_of_axe(page) == []
    context.close()
    # The browser itself notes every refusal by the server, which the page then explains.
    noted = [text for text in complaints if not (expected and "Failed to load" in text)]
    assert noted == []
    assert foreign == []


@pytest.fixture
def page(chromium, web):
    with opened(chromium, web.link) as page:
        yield page


@pytest.fixture
def person(page):
    return Person(page)


@pytest.fixture
def wary(chromium, web):
    """Somebody at a page on which refusals are expected."""
    with opened(chromium, web.link, expected=("refusals",)) as page:
        yield Person(page)


def complaints_of_axe(page, rules=None):
    """All of them, whatever their impact, those about best practice too."""
    options = {"runOnly": rules} if rules else {}
    found = axe.Axe().run(page, options=options).response["violations"]
    return [(v["id"], [node["html"] for node in v["nodes"]]) for v in found]


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
            page.screenshot(path=f"{folder}/{name}", full_page=True)
        assert complaints_of_axe(page, rules) == []


def number(text):
    """The first number of a text."""
    return int(re.search(r"[\d,]+", text)[0].replace(",", ""))


def test_the_example_from_the_click_to_the_report(chromium, web):
    with opened(chromium, web.link) as page:
        look(page)
        person = Person(page)
        person.click("#try-example")
        assert re.fullmatch(r"about [\d,]+ Aedes females of 8,070 insects", person.answer())
        truth = load_example("pyarrow").truth.to_pylist()
        groups = person.groups()
        assert list(groups) == ["All insects", *(night["night"] for night in truth)] or [
            name.split(" ")[0] for name in groups
        ][1:] == [night["night"] for night in truth]
        assert page.locator("table.groups .truth").count() == 9
        person.checked()
        told = page.inner_text("#check-status")
        assert told.startswith(("nothing speaks against it", "worst first, each with one thing"))
        assert page.locator("#scores svg").is_visible()
        assert "within the range of the answer" in page.inner_text("#agreement")
        # The total is the first, whatever the order of the others.
        page.select_option("#groups select", "share")
        counts = [number(text) for text in person.groups().values()]
        assert counts[0] == max(counts)
        assert counts[1] > counts[-1]
        person.click("#share-change")
        page.fill("#report-title", "Aedes in the trap")
        report = page.inner_text("#report")
        assert report.startswith("Aedes in the trap")
        assert "400 labelled positives and 8,070 unlabeled rows in 9 groups" in report
        look(page)
        with page.expect_download() as download:
            page.click("#save-report")
        saved = download.value.path().read_text()
        assert "Aedes in the trap" in saved
        assert not re.findall(r"<script|(?:src|href)=", saved)
        with page.expect_download() as download:
            page.click("#save-svg")
        picture = download.value.path().read_text()
        assert all(night["night"] in picture for night in truth)
        with page.expect_download() as download:
            page.click("#save-png")
        drawn = download.value.path().read_bytes()
        assert drawn.startswith(b"\x89PNG")
        assert len(drawn) > 20_000
        # At 200 %, a window of 1280 points has room for half of that.
        page.set_viewport_size({"width": 640, "height": 400})
        assert page.evaluate("document.documentElement.scrollWidth") <= 640
        page.emulate_media(reduced_motion="reduce")
        motion = "getComputedStyle(document.documentElement).scrollBehavior"
        assert page.evaluate(motion) == "auto"
        # On paper there is nothing but the report, on one page.
        assert people.pages(page) == 1
        page.emulate_media(media="print")
        assert page.locator("#report").is_visible()
        assert not page.locator("#answer").is_visible()
        page.emulate_media(media="screen")


@pytest.mark.parametrize(
    "name", ["register with yes, no and empty", "German files", "one file per island"]
)
def test_people_get_the_answer(person, name):
    found = people.PEOPLE[name](person)
    answer = found if isinstance(found, str) else found[0]
    low, high = map(
        number, re.search(r"between (\d+) and (\d+)", person.page.inner_text("p.range")).groups()
    )
    assert low <= TRUTH <= high
    assert abs(number(answer) - TRUTH) <= 12
    if name == "German files":
        assert "Read as Windows-1252 with decimal commas." in found[1]
    if name == "one file per island":
        assert list(found[1]) == ["All rows", "Biscoe.csv", "Dream.csv", "Torgersen.csv"]
    assert person.clicks <= 4


def test_several_kinds_are_counted_at_once(person):
    answer, _ = people.three_species(person)
    assert re.fullmatch(
        r"about \d+ Adelie, \d+ Gentoo and \d+ Chinstrap of 171 rows", answer
    ) or all(name in answer for name in ("Adelie", "Gentoo", "Chinstrap"))
    shares = [number(text) for text in person.groups().values()]
    assert sum(shares) == pytest.approx(171, abs=2)


def test_what_is_wrong_is_mended_by_one_click(person):
    wrong, right = people.swapped(person).split(", after Swap ")
    assert number(wrong) < 10
    assert abs(number(right) - TRUTH) <= 12
    # What the user knows changes the answer by itself, and so does another column.
    known = person.next_answer(lambda: person.click("#beside button:has-text('nearly always')"))
    assert abs(number(known) - TRUTH) <= 12
    pressed = person.page.locator("#beside button[aria-pressed=true]")
    assert pressed.inner_text() == "nearly always"
    person.click("#columns-change")
    person.next_answer(lambda: person.choose('[data-column="year"]', "none"))
    assert "leave out year" in person.page.inner_text("#learned")


def test_columns_with_other_names_are_matched_and_known_rows_left_out(person):
    people.renamed(person)
    assert person.clicks == 4
    person.page.click("#columns-change")
    assert person.page.locator("#grid th svg").count() >= 4


def test_labels_are_kept_and_move_the_headline(person, tmp_path):
    page = person.page
    person.give(ADELIES, COLONY)
    person.count()
    person.checked()
    page.fill("#label-n", "8")
    person.click("#choose-rows")
    rows = page.locator("#to-label tbody tr")
    rows.first.wait_for()
    for i in range(8):
        rows.nth(i).locator("input[value=yes]").check()
    # Whoever sees positives everywhere contradicts the model, so that the labels count.
    page.wait_for_selector("#by-hand")
    by_labels = person.answer()
    assert number(by_labels) > TRUTH + 20
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#by-hand")
    assert page.locator("#to-label input:checked").count() == 8
    assert person.answer() == by_labels
    # A file keeps them, and so do others that are chosen besides.
    with page.expect_download() as download:
        page.click("#save-labels")
    saved = tmp_path / "labels.csv"
    download.value.save_as(saved)
    rows = list(csv.DictReader(saved.read_text("utf-8-sig").splitlines()))
    assert [row["label"] for row in rows] == ["yes"] * 8
    page.fill("#label-n", "12")
    page.click("#choose-rows")
    page.wait_for_selector("#to-label tbody tr:nth-child(12)")
    kept = page.locator("#to-label input:checked").count()
    assert kept >= 1
    page.evaluate("sessionStorage.clear()")
    person.next_answer(lambda: page.click("#beside button:has-text('often not')"))
    person.next_answer(lambda: page.click("#beside button:has-text('not sure')"))
    person.checked()
    page.set_input_files("#open-labels", saved)
    # The page may still be busy with the twelve rows that it remembers.
    page.wait_for_selector("#label-status:has-text('8 of 8 rows')")
    assert page.locator("#to-label input:checked").count() == 8
    page.wait_for_function(
        "told => document.querySelector('#headline .big').innerText.replace('\\n', ' ') === told",
        arg=by_labels,
    )
    page.set_input_files("#open-labels", file("other.csv", b"a,b\n1,2\n"))
    page.wait_for_selector("#label-status:has-text('other.csv has no labels')")


def test_a_session_is_saved_and_opened_by_somebody_else(chromium, web, tmp_path):
    with opened(chromium, web.link) as page:
        person = Person(page)
        person.give(ADELIES, COLONY)
        page.fill("[data-noun=positives]", "Adélies")
        person.choose('[data-column="year"]', "group:year")
        answer = person.count()
        assert "Adélies" in answer
        with page.expect_download() as download:
            page.click("#save-session")
        saved = tmp_path / "mine.poscount-session"
        download.value.save_as(saved)
    with opened(chromium, web.link) as page:
        page.set_input_files("#open-session", saved)
        person = Person(page)
        assert person.answer() == answer
        assert list(person.groups()) == ["All rows", "2007", "2008", "2009"]
        # The example asks before it replaces anything.
        page.click("#example")
        page.click("#confirm button:has-text('Keep mine')")
        assert person.answer() == answer
        page.click("#example")
        page.click("#confirm button:has-text('Insects in a trap')")
        page.wait_for_selector("#headline:has-text('Aedes')")
        # One that somebody has changed is refused with a sentence of the page's own.
        content = saved.read_bytes()
        assert b'"settings":{' in content
        damaged = tmp_path / "damaged.poscount-session"
        damaged.write_bytes(re.sub(rb'"settings":\{[^}]*\}', b'"settings":null', content))
        page.set_input_files("#open-session", damaged)
        page.wait_for_selector("#data-error:has-text('This is not a session')")


def test_a_refused_file_stays_with_its_sentence_and_its_buttons(wary):
    page = wary.page
    sentence = people.refused_file(wary)
    assert sentence.startswith("bad.csv: line 3 has 1 cell")
    assert "Add a file of known positives." in page.inner_text("#lacking")
    numbers = table(SURVEY, people.MEASURES).partition(b"\n")[2]
    page.set_input_files("#positives", file("numbers.csv", numbers))
    page.click("#positives-files button:has-text('First line: data')")
    page.wait_for_selector("#positives-files .file:has-text('269 rows')")
    look(page)
    page.click("#unlabeled-files button[title=Remove]")
    page.locator("#unlabeled-files li").wait_for(state="detached")


def test_the_row_of_the_names_is_clicked(wary):
    answer, columns = people.header_by_click(wary)
    assert abs(number(answer) - TRUTH) <= 12
    assert columns.startswith("Learn from 4 measurements (bill_length_mm,")


@pytest.mark.parametrize("name", ["register", "species"])
def test_the_other_examples_are_near_their_truth(person, name):
    answer, truth = people.example(name)(person)
    for said, true in zip(
        *(map(int, re.findall(r"\d+", text)) for text in (answer, truth)), strict=False
    ):
        assert abs(said - true) <= 15
    look(person.page)
    person.page.set_viewport_size({"width": 1280, "height": 800})
    # What is known of the rows is in one of their columns: the pictures tell these rows apart.
    person.click("#columns-change")
    drawn = person.page.locator("#grid th svg")
    assert drawn.count() >= 5
    for i in range(drawn.count()):
        assert drawn.nth(i).locator(".of-positives").count()


def test_a_session_lives_while_somebody_looks_at_it(chromium):
    with served(idle_seconds=4) as web:
        unseen = web.visit()
        with opened(chromium, web.link, clock=True) as page:
            person = Person(page)
            person.give(ADELIES, COLONY)
            for _ in range(8):
                page.wait_for_timeout(1000)
                page.clock.fast_forward(240_000)
            assert unseen.see().status_code == 404
            assert len({file.parent for file in web.files()}) == 1
            assert "of 269 rows" in person.count()


def test_names_from_files_are_text(page):
    name = "<img src=x onerror=alert(1)>"
    content = table(SURVEY, people.MEASURES, [name, "b", "c", "d"])
    person = Person(page)
    person.give(file(f"{name}.csv", content), file("u.csv", content + content.partition(b"\n")[2]))
    assert name in page.inner_text("#cards")
    assert name in page.inner_text("#grid")
    person.count()
    person.checked()
    assert page.locator("img").count() == 0


def test_everything_works_with_the_keyboard_alone(page):
    def go_to(selector):
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached")

    go_to("#try-example")
    page.keyboard.press("Enter")
    person = Person(page)
    before = person.answer()
    assert page.evaluate("document.activeElement.id") == "answer-title"
    go_to(".segments button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".segments button[aria-pressed=true]:has-text('nearly always')")
    person.answer()
    go_to("#groups select")
    page.keyboard.press("ArrowDown")
    go_to("#share-change")
    page.keyboard.press("Enter")
    assert page.locator("#report").is_visible()
    assert before


def test_a_second_file_is_chosen_while_the_first_is_read(page):
    person = Person(page)
    dialog = page.query_selector("#unlabeled")
    page.set_input_files("#positives", ADELIES)
    page.locator("#positives-files .file:has-text('73 rows')").wait_for()
    # Drawn anew since the dialog was opened.
    dialog.set_input_files(COLONY)
    page.set_input_files("#negatives", file("others.csv", table(SURVEY[:3])))
    page.locator("#negatives-files .file:has-text('3 rows')").wait_for()
    assert "269 rows" in page.inner_text("#unlabeled-files")
    page.click("#negatives-files button[title=Remove]")
    assert "of 269 rows" in person.count()


def test_files_can_be_dropped(page):
    page.evaluate(
        """([name, text]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name));
            const card = document.querySelector('[data-role=unlabeled]');
            for (const type of ['dragover', 'drop']) {
                card.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true }));
            }
        }""",
        ["survey.csv", COLONY["buffer"].decode()],
    )
    page.wait_for_selector("#unlabeled-files .file:has-text('269 rows')")


def test_long_work_is_told_and_cancelled(wary):
    page = wary.page
    wary.give(ADELIES, COLONY)
    page.click("#columns-body summary")
    page.select_option("#method", "extice")
    page.fill("#bootstrap", "1000")
    page.press("#bootstrap", "Tab")
    wary.click("#count")
    page.wait_for_selector("#status:has-text('Counting')")
    wary.click("#cancel")
    page.wait_for_selector("#working", state="hidden")
    assert page.locator("#result").is_hidden()
    assert page.locator("#count").is_enabled()
    # The answer from before stays, and is checked again, because the new one had stopped that.
    page.select_option("#method", "rcq")
    page.fill("#bootstrap", "")
    page.press("#bootstrap", "Tab")
    answer = wary.count()
    wary.checked()
    page.click("#columns-change")
    page.fill("#bootstrap", "1000")
    page.press("#bootstrap", "Tab")
    page.select_option("#method", "extice")
    wary.click("#cancel")
    page.wait_for_selector("#working", state="hidden")
    assert wary.answer() == answer
    wary.checked()
    assert page.locator("#scores svg").is_visible()


def test_files_are_sent_again_to_a_server_that_has_forgotten_them(chromium):
    with served() as web, opened(chromium, web.link, expected=("gone",)) as page:
        person = Person(page)
        person.give(ADELIES, COLONY)
        for session in list(web.service.sessions._sessions):
            web.http.delete(f"/api/sessions/{session}")
        assert web.files() == []
        assert "of 269 rows" in person.count()


def test_leaving_the_page_deletes_the_session(chromium):
    with served(leave_seconds=0.3) as web, opened(chromium, web.link) as page:
        Person(page).give(ADELIES)
        assert web.files()
        page.goto("about:blank")
        for _ in range(100):
            if not web.files():
                break
            page.wait_for_timeout(100)
        assert web.files() == []


def test_a_server_that_is_gone_is_said_to_be_and_the_answer_stays(chromium):
    with served() as web, opened(chromium, web.link, expected=("gone",)) as page:
        person = Person(page)
        person.give(ADELIES, COLONY)
        answer = person.count()
        person.checked()
        page.route("**/api/**", lambda route: route.abort())
        page.click("#beside button:has-text('often not')")
        page.wait_for_selector("#answer-error:has-text('does not answer')")
        assert person.answer() == answer
        page.unroute("**/api/**")
