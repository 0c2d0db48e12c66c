"""The assumption report: nothing to report of clean data, and each fault by its name."""

import gc
import html.parser
import json
import pickle
import re
import weakref
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import DEDPUL, PAT, RCQ, TRCQ, InputError, Minimum, ODIn, diagnose
from poscount.checks import REPORT
from poscount.checks.copies import copies, row_codes
from poscount.checks.finding import Finding
from poscount.checks.unseen_categories import UNSEEN_CATEGORIES
from poscount.data.rows import InputSupport, Rows
from poscount.diagnostics.evidence import MOST_ROWS
from two_clusters import halves, separate

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

D = 5


def mixture(rng, n_positive, n_negative, first=0.5):
    return np.vstack([halves(rng, n_positive, first), separate(rng, n_negative)])


@pytest.fixture(scope="module")
def learned():
    return halves(np.random.default_rng(1), 300)


@pytest.fixture(scope="module")
def clean():
    return mixture(np.random.default_rng(2), 360, 540)


@pytest.fixture(scope="module")
def rcq(learned):
    return RCQ(random_state=0).fit(learned)


def by_code(diagnosis):
    return {finding.code: finding for finding in diagnosis.findings}


def severity(diagnosis, code):
    return by_code(diagnosis)[code].severity


def warned(diagnosis):
    return {f.code for f in diagnosis.findings if f.severity in ("check", "do not use")}


def noted(diagnosis):
    return {f.code for f in diagnosis.findings if f.severity != "ok"}


def rows(array):
    return Rows(np.asarray(array, float), None, InputSupport())


# Clean data


@pytest.mark.parametrize("model", [RCQ(random_state=0), PAT(random_state=0), TRCQ(random_state=0)])
def test_of_clean_data_nothing_is_said(model, learned, clean):
    reference = mixture(np.random.default_rng(3), 150, 750)
    diagnosis = diagnose(model.fit(learned), clean, positives=learned, reference=reference)
    assert not warned(diagnosis)
    assert_same_answer(diagnosis.prevalence, model.quantify(clean))
    assert len(diagnosis.findings) + len(diagnosis.skipped) == len(REPORT)
    assert len({finding.code for finding in diagnosis.findings}) == len(diagnosis.findings)
    reasons = {u.code: u.reason for u in diagnosis.skipped if u.code != "tied-scores"}
    assert reasons == {"unseen-words": "No column holds words."}


def test_a_report_does_not_keep_the_sample(clean):
    """Whatever could not be checked, which is most of it here."""
    model = PAT(random_state=0).fit(clean[:200])
    rows = clean.copy()
    seen = weakref.ref(rows)
    report = diagnose(model, rows)
    assert report.skipped
    del rows
    gc.collect()
    assert seen() is None


def test_every_finding_says_what_it_must(rcq, learned, clean):
    for finding in diagnose(rcq, clean, positives=learned).findings:
        assert 0 <= finding.false_alarm_rate <= 0.08
        assert finding.cannot_detect
        assert len(finding.title.split()) <= 7
        assert finding.sentence.endswith(".")
        assert f"It cannot see {finding.cannot_detect}." in str(finding)


def test_all_numbers_are_those_of_the_model(rcq, clean):
    found, details = by_code(diagnose(rcq, clean)), rcq.quantify(clean).details
    assert found["core-differs"].number == details["core_difference"]
    assert found["pat-disagrees"].number == details["disagreement"]
    assert found["overlap"].number == details["core_excess"]
    assert found["few-positives"].number == 300


def test_twice_the_same(rcq, learned, clean):
    one, two = (diagnose(rcq, clean, positives=learned) for _ in range(2))
    assert_same_answer(one, two)
    assert one.to_html() == two.to_html()


# Faults by construction


def test_overlap(rcq, learned):
    rng = np.random.default_rng(4)
    sample = np.vstack([halves(rng, 300), halves(rng, 700, first=0.0)])
    diagnosis = diagnose(rcq, sample, positives=learned)
    assert {"core-differs", "pat-disagrees"} <= noted(diagnosis)
    finding = by_code(diagnosis)["core-differs"]
    details = diagnosis.prevalence.details
    for number in (diagnosis.prevalence, min(1.0, details["pat"])):
        assert f"{100 * number:.1f} %" in finding.sentence
    crowded = diagnose(rcq, halves(rng, 900) * 0.5)
    assert "overlap" in noted(crowded)


def test_a_second_sample_tells_overlap_from_drift(rcq):
    rng = np.random.default_rng(5)

    def overlapping(n_positive, n_negative):
        return np.vstack([halves(rng, n_positive), halves(rng, n_negative, first=0.0)])

    found = diagnose(rcq, overlapping(500, 500), reference=overlapping(150, 850))
    finding = by_code(found)["second-sample"]
    assert (finding.severity, finding.advice) == ("note", "Trust RCQ rather than PAT.")
    assert finding.number > finding.threshold
    found = diagnose(rcq, mixture(rng, 700, 300, 0.15), reference=mixture(rng, 200, 800, 0.15))
    finding = by_code(found)["second-sample"]
    assert finding.severity == "note"
    assert finding.advice.startswith("Trust PAT rather than RCQ")
    found = diagnose(rcq, mixture(rng, 500, 500, 0.15), reference=mixture(rng, 500, 500, 0.15))
    assert "too close to tell" in by_code(found)["second-sample"].advice


@pytest.mark.parametrize("seed", range(3))
def test_a_border_that_only_a_classifier_sees(seed):
    """Negatives are rows whose 15 features add up to more than 0: no single feature tells."""
    rng = np.random.default_rng(seed)
    learned, others = rng.normal(size=(400, 15)), rng.normal(size=(2000, 15))
    sample = np.vstack([rng.normal(size=(300, 15)), others[others.sum(axis=1) > 0][:700]])
    model = RCQ(random_state=0).fit(learned)
    finding = by_code(diagnose(model, sample, positives=learned))["dedpul-disagrees"]
    assert finding.severity == "note"
    assert "TRCQ" in finding.advice
    assert "of the rows" not in finding.sentence
    of_rcq, of_dedpul = (float(x) / 100 for x in re.findall(r"([\d.]+) %", finding.sentence))
    assert of_rcq == pytest.approx(float(model.quantify(sample)), abs=6e-4)
    assert abs(of_dedpul - 0.3) < abs(of_rcq - 0.3)


def test_negatives_all_around_are_no_disagreement():
    """No straight border tells them from the positives; the distance does."""
    rng = np.random.default_rng(13)
    learned = rng.normal(size=(300, 4))
    around = rng.normal(size=(600, 4))
    around *= 8 / np.linalg.norm(around, axis=1, keepdims=True)
    sample = np.vstack([rng.normal(size=(400, 4)), around])
    found = diagnose(RCQ(random_state=0).fit(learned), sample, positives=learned)
    assert severity(found, "dedpul-disagrees") == "ok"


@pytest.mark.parametrize("n", [12, 19, 30, 300])
def test_few_positives(n, learned, clean):
    diagnosis = diagnose(RCQ(random_state=0).fit(learned[:n]), clean)
    expected = "check" if n < 20 else "note" if n < 60 else "ok"
    assert severity(diagnosis, "few-positives") == expected
    unchecked = {u.code for u in diagnosis.skipped}
    assert ("core-differs" in unchecked) == (n < 20)


def test_few_positives_for_a_plain_covariance():
    rng = np.random.default_rng(7)
    learned, sample = rng.normal(size=(100, 20)), rng.normal(size=(500, 20))
    plain = diagnose(PAT(random_state=0).fit(learned), sample)
    finding = by_code(plain)["few-positives"]
    assert finding.severity == "check"
    assert "ledoit-wolf" in finding.advice
    # As few as make `covariance_bias` just small enough.
    enough = int(finding.threshold)
    more = rng.normal(size=(enough, 20))
    codes = [
        {c.code for c in PAT(random_state=0).fit(part).quantify(sample).warnings}
        for part in (more, more[:-1])
    ]
    assert ["few-positives" in found for found in codes] == [False, True]


def test_copies(rcq, learned, clean):
    twice = np.vstack([clean, clean])
    found = diagnose(rcq, twice, positives=learned)
    assert by_code(found)["duplicate-rows"].number == pytest.approx(0.5)
    assert warned(found) & {"duplicate-rows", "duplicate-positives"} == {"duplicate-rows"}
    doubled = np.vstack([learned[:150], learned[:150]])
    model = RCQ(random_state=0).fit(doubled)
    found = diagnose(model, clean, positives=doubled)
    assert by_code(found)["duplicate-positives"].number == pytest.approx(0.5)
    assert "duplicate-positives" in warned(found)
    found = diagnose(rcq, np.vstack([clean, learned]), positives=learned)
    assert by_code(found)["positives-in-sample"].number == 1
    assert "positives-in-sample" in warned(found)
    found = diagnose(rcq, np.vstack([clean, learned[:30]]), positives=learned)
    assert by_code(found)["positives-in-sample"].number == pytest.approx(0.1)
    assert severity(found, "positives-in-sample") == "note"


def test_coarse_values_are_no_copies():
    rng = np.random.default_rng(9)
    learned, sample = rng.integers(0, 4, size=(300, 2)), rng.integers(0, 4, size=(600, 2))
    found = by_code(diagnose(RCQ(random_state=0).fit(learned), sample, positives=learned))
    assert "positives-in-sample" not in found
    for code in ("duplicate-rows", "duplicate-positives"):
        assert found[code].severity == "note"
        assert found[code].number > 0.9
        assert "coarse" in found[code].sentence


def test_constants(learned, clean):
    lost = clean.copy()
    lost[:, 2] = 7.0
    frame = pd.DataFrame(learned, columns=list("abcde"))
    model = RCQ(random_state=0).fit(frame)
    sample = pd.DataFrame(lost, columns=list("abcde"))
    finding = by_code(diagnose(model, sample, positives=frame))["constant-features"]
    assert finding.severity == "note"
    assert finding.sentence.endswith("but not among the positives: c.")
    # Who does not know the positives cannot say that it ought to vary.
    assert severity(diagnose(model, sample), "constant-features") == "note"
    flat = np.column_stack([learned, np.ones(len(learned))])
    wide = np.column_stack([clean, np.arange(len(clean))])
    finding = by_code(diagnose(RCQ(random_state=0).fit(flat), wide))["constant-features"]
    assert finding.severity == "note"
    assert finding.sentence == "Constant among the positives: x5."


def test_a_rare_value_may_be_absent(learned, clean):
    rare = (np.arange(len(learned)) < 3).astype(float)
    model = RCQ(random_state=0).fit(np.column_stack([learned, rare]))
    sample = np.column_stack([clean, np.zeros(len(clean))])
    found = diagnose(model, sample, positives=np.column_stack([learned, rare]))
    assert severity(found, "constant-features") == "note"


def test_repeated_columns_and_filled_in_values(learned, clean):
    repeated = np.column_stack([learned, learned[:, 0] + learned[:, 1]])
    filled = np.column_stack([clean, clean[:, 0] + clean[:, 1]])
    filled[::5, 3] = -999.0
    model = PAT(random_state=0).fit(repeated)
    found = by_code(diagnose(model, filled))
    assert (found["repeated-columns"].severity, found["repeated-columns"].number) == ("note", 1)
    # RCQ, which is fitted if the positives are given, shrinks its covariance, and cannot see it.
    with_positives = by_code(diagnose(model, filled, positives=repeated))
    assert with_positives["repeated-columns"] == found["repeated-columns"]
    finding = found["repeated-values"]
    assert (finding.severity, finding.number) == ("note", pytest.approx(0.2))
    assert "x3 = -999 (20 % of the sample)" in finding.sentence


def test_tied_scores(learned, clean):
    coarse = np.round(learned[:, :1] / 3)
    found = diagnose(PAT(random_state=0).fit(coarse), np.round(clean[:, :1] / 3))
    assert "tied-scores" in noted(found)


# Whatever comes in


def test_what_a_model_does_not_keep_is_not_checked(learned, clean):
    diagnosis = diagnose(PAT(random_state=0).fit(learned), clean)
    unchecked = {u.code: u for u in diagnosis.skipped}
    options = {code: u.option for code, u in unchecked.items()}
    assert options["dedpul-disagrees"] == options["core-differs"] == "positives"
    assert options["second-sample"] == "reference"
    assert not any("=" in u.reason or "--" in u.reason for u in diagnosis.skipped)
    assert str(unchecked["second-sample"]).endswith("a different prevalence. Pass reference=.")
    assert "Pass positives=." in str(diagnosis).partition("NOT CHECKED")[2]
    in_other_words = diagnosis.rendered(lambda u: f"Add --{u.option}." if u.option else "")
    assert "a different prevalence. Add --reference." in in_other_words
    assert "=." not in in_other_words
    assert {u["option"] for u in diagnosis.to_dict()["skipped"]} == set(options.values())


@pytest.mark.parametrize(
    "model",
    [
        DEDPUL(random_state=0),
        ODIn(random_state=0),
        PAT(IsolationForest(n_estimators=20), random_state=0),
        Minimum([PAT(), DEDPUL()], random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_of_model(model, learned, clean):
    diagnosis = diagnose(model.fit(learned), clean, positives=learned)
    assert not {"core-differs", "dedpul-disagrees"} & {u.code for u in diagnosis.skipped}
    assert not warned(diagnosis)


def test_a_transductive_model_knows_its_positives(learned, clean):
    diagnosis = diagnose(DEDPUL(random_state=0).fit(learned), clean)
    assert severity(diagnosis, "core-differs") == "ok"
    reasons = {u.code: u.reason for u in diagnosis.skipped}
    assert set(reasons) == {"second-sample", "tied-scores", "unseen-words"}


def test_words_and_gaps_are_looked_at(learned, clean):
    """In a table with a word, of which no positive has "other"; b is missing in the sample only."""
    tables = [pd.DataFrame(x[:, :3], columns=list("abc")) for x in (learned, clean)]
    positives, sample = (
        table.assign(word=np.where(np.arange(len(table)) % 2, "one", "two")) for table in tables
    )
    for model in (RCQ(random_state=0), PAT(random_state=0), DEDPUL(random_state=0)):
        model.fit(positives)
        found = by_code(diagnose(model, sample))
        assert found["missing-differs"].severity == found["unseen-words"].severity == "ok"
        changed = sample.copy()
        changed.loc[::4, "b"] = np.nan
        changed.loc[1::4, "word"] = "other"
        found = by_code(diagnose(model, changed))
        assert found["missing-differs"].number == pytest.approx(0.25, abs=0.01)
        assert found["unseen-words"].number == pytest.approx(0.25, abs=0.01)
        assert found["missing-differs"].severity == "note"
        assert found["unseen-words"].severity == "note"


def test_dedpul_is_not_asked_about_little(rcq, learned, clean):
    some = clean[:: len(clean) // 150]
    found = diagnose(rcq, some, positives=learned)
    reasons = {u.code: u.reason for u in found.skipped}
    assert reasons["dedpul-disagrees"] == "It needs at least 60 positives and 200 rows."


def test_rows_that_are_not_numbers(learned, clean):
    holes = clean.copy()
    holes[3, 1] = np.nan
    model = PAT(make_pipeline(SimpleImputer(), OneClassSVM()), random_state=0).fit(learned)
    found = diagnose(model, holes, positives=learned)
    assert "missing values" in {u.code: u.reason for u in found.skipped}["duplicate-rows"]
    found = diagnose(model, clean, positives=learned)
    assert severity(found, "duplicate-rows") == "ok"
    thin = PAT(OneClassSVM(), random_state=0).fit(sparse.csr_array(learned))
    found = diagnose(thin, sparse.csr_array(clean), positives=sparse.csr_array(learned))
    assert {f.code for f in found.findings} == {"few-positives", "overlap", "tied-scores"}


def test_frames_by_name(make_frame):
    rng = np.random.default_rng(10)
    learned, sample = halves(rng, 200, d=3), mixture(rng, 200, 300)[:, :3]
    model = RCQ(random_state=0).fit(make_frame(learned))
    frame = make_frame(sample)
    given = diagnose(model, frame, positives=make_frame(learned), reference=frame)
    plain = diagnose(RCQ(random_state=0).fit(learned), sample, positives=learned, reference=sample)
    assert [f.number for f in given.findings] == [f.number for f in plain.findings]
    assert not warned(given)


def test_wrong_input(rcq, learned, clean):
    with pytest.raises(InputError, match="299 positives, but the model was fitted on 300"):
        diagnose(rcq, clean, positives=learned[1:])
    with pytest.raises(InputError, match="The sample has no rows"):
        diagnose(rcq, clean[:0])
    with pytest.raises(InputError, match="The reference has no rows"):
        diagnose(rcq, clean, reference=clean[:0])
    with pytest.raises(ValueError, match="4 features"):
        diagnose(rcq, clean, reference=clean[:, :4])


def test_large_samples_are_asked_in_part(rcq, learned):
    rng = np.random.default_rng(11)
    sample = mixture(rng, MOST_ROWS // 2, MOST_ROWS // 2 + 1)
    found = by_code(diagnose(rcq, sample, positives=learned))
    assert "(from 10,000 of the rows)" in found["dedpul-disagrees"].sentence
    assert found["dedpul-disagrees"].severity == "ok"


def test_any_finite_numbers(rcq, learned):
    huge = np.full((50, D), 1e308)
    huge[::2] = 0.0
    found = diagnose(rcq, huge, positives=learned, reference=learned)
    json.loads(found.to_json())


# Rows by their codes


def test_row_codes_tell_rows_apart():
    rng = np.random.default_rng(12)
    values = rng.integers(-2, 3, size=(2000, 4)).astype(float)
    values[values == 0] = rng.choice([0.0, -0.0], (values == 0).sum())
    codes = row_codes(rows(values))
    plain = {tuple(row) for row in values.tolist()}
    assert len(np.unique(codes)) == len(plain)
    assert copies(codes) == 1 - len(plain) / 2000
    # Neither the order of the values nor that of the columns is lost.
    assert row_codes(rows([[1, 2]])) != row_codes(rows([[2, 1]]))
    distinct = rng.normal(size=(3000, 2))
    assert copies(row_codes(rows(distinct))) == 0


# Text, JSON, HTML


def test_json_holds_everything_but_pictures(rcq, learned, clean):
    diagnosis = diagnose(rcq, clean, positives=learned)
    content = json.loads(diagnosis.to_json())
    assert content == diagnosis.to_dict()
    assert set(content) == {"severity", "prevalence", "what_if", "findings", "skipped"}
    assert content["prevalence"] == diagnosis.prevalence.to_dict()
    for record, finding in zip(content["findings"], diagnosis.findings, strict=True):
        assert Finding(**record) == finding


def test_text_has_the_worst_first(rcq, clean):
    text = str(diagnose(rcq, np.vstack([clean, clean])))
    words = re.findall(r"^(DO NOT USE|CHECK|NOTE|OK|NOT CHECKED)", text, re.MULTILINE)
    assert words == sorted(words, key=["DO NOT USE", "CHECK", "NOTE", "OK", "NOT CHECKED"].index)
    assert words[0] == "CHECK"
    assert repr(rcq.quantify(np.vstack([clean, clean]))) in text


class Addresses(html.parser.HTMLParser):
    """Everything in a page that a browser might fetch or run."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.found += [tag] if tag in ("script", "link", "iframe", "object", "base") else []
        self.found += [names[n] for n in ("src", "href", "srcset", "data", "action") if n in names]
        self.found += [n for n in names if n.startswith("on")]


def test_the_page_needs_nothing_and_runs_nothing(learned, clean, tmp_path):
    pytest.importorskip("matplotlib")
    names = ["<script>alert(1)</script>", "a & b", '"quoted"', "$x^2$", "e"]
    frame, sample = (pd.DataFrame(x, columns=names) for x in (learned, clean))
    lost = sample.copy()
    lost[names[0]] = 1.0
    model = RCQ(random_state=0).fit(frame)
    path = tmp_path / "report.html"
    page = diagnose(model, lost, positives=frame, reference=sample).to_html(path)
    assert path.read_text(encoding="utf-8") == page
    parser = Addresses()
    parser.feed(page)
    assert parser.found
    assert all(address.startswith("data:image/png;base64,") for address in parser.found)
    assert "&lt;script&gt;" in page
    assert "url(" not in page
    assert "@import" not in page
    # Every element is closed in its place.
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    assert [path] == list(tmp_path.iterdir())


def test_the_page_says_what_the_text_says(rcq, learned, clean):
    pytest.importorskip("matplotlib")
    diagnosis = diagnose(rcq, np.vstack([clean, clean]), positives=learned)
    text = " ".join(ET.fromstring(diagnosis.to_html().partition("\n")[2]).itertext())
    for finding in diagnosis.findings:
        for part in (finding.title, finding.sentence, finding.advice, finding.figures):
            assert part in text
    assert "Check: Copies in the sample" in text


def test_no_figure_is_left_open(rcq, learned, clean):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    diagnosis = diagnose(rcq, clean, positives=learned, reference=clean)
    diagnosis.to_html()
    assert plt.get_fignums() == []
    drawn = {f.code for f in diagnosis.findings if f.plot is not None}
    assert drawn == {"broken-assumption", "core-differs", "second-sample", "dedpul-disagrees"}
    _, ax = plt.subplots()
    by_code(diagnosis)["core-differs"].plot(ax)
    assert ax.get_title()
    plt.close("all")


def test_a_diagnosis_travels(rcq, learned, clean):
    diagnosis = diagnose(rcq, clean, positives=learned)
    copy = pickle.loads(pickle.dumps(diagnosis))
    assert_same_answer(copy, diagnosis)
    assert copy.to_html() == diagnosis.to_html()


# The page of the documentation


def tables(text):
    """Rows of all Markdown tables, by the heading of their first column."""
    found = {}
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *lines = (
            [cell.strip() for cell in r.strip("|\n").split("|")] for r in table.splitlines()
        )
        found.setdefault(head[0], []).append([dict(zip(head, line, strict=True)) for line in lines])
    return found


def test_the_documentation_has_the_measured_rates(rcq, learned, clean):
    docs = Path(__file__).parents[2] / "docs"
    pages = ("diagnostics.md", "diagnostics-results.md")
    text = "\n".join((docs / page).read_text(encoding="utf-8") for page in pages)
    by_name = [{row["code"].strip("`"): row for row in t} for t in tables(text)["code"]]
    findings = by_code(diagnose(rcq, clean, positives=learned, reference=clean))
    (thresholds, blind, measured) = by_name
    # The samples that the rates are measured on have no words.
    assert set(thresholds) == set(blind) == {*findings, "unseen-words"}
    assert blind["unseen-words"]["cannot see"] == UNSEEN_CATEGORIES.cannot_detect
    for code, finding in findings.items():
        assert blind[code]["cannot see"] == finding.cannot_detect
        if code in ("second-sample", "broken-assumption"):
            continue
        warnings = [float(measured[code][s].split()[0]) for s in ("simulated", "real")]
        assert 100 * finding.false_alarm_rate == pytest.approx(max(warnings))
    doubted = (docs.parent / "benchmarks" / "results" / "verdict.md").read_text(encoding="utf-8")
    rate = float(re.search(r"clean answers: ([\d.]+) % doubted", doubted)[1])
    assert 100 * findings["broken-assumption"].false_alarm_rate == pytest.approx(rate)
    pairs = [row for row in tables(text)["kind"][1] if row["kind"] == "clean"]
    rate = np.mean([float(row["`second-sample`"]) for row in pairs])
    assert 100 * findings["second-sample"].false_alarm_rate == pytest.approx(rate, abs=0.5)


def test_a_report_of_few_checks_says_so_first(learned, clean, rcq):
    odin = diagnose(ODIn(random_state=0).fit(learned), clean)
    n_checks = len(odin.findings) + len(odin.skipped)
    assert odin.summary.startswith(f"Only {len(odin.findings)} of {n_checks} checks could be made")
    full = diagnose(rcq, clean, positives=learned)
    assert not full.summary.startswith("Only")
    _, verdict, summary, *_ = str(full).splitlines()
    assert (verdict, summary) == (str(full.prevalence.verdict), full.summary)
    assert verdict in full.to_html()


def test_what_only_the_answer_can_tell_is_in_the_report():
    rng = np.random.default_rng(0)
    years = np.repeat([2007.0, 2008.0, 2009.0], 100)
    positives = np.column_stack([rng.normal(size=(300, 3)), years])
    sample = np.vstack([rng.normal(size=(60, 3)), rng.normal(size=(140, 3)) + 3])
    of_a_year = np.column_stack([sample, np.full(200, 2008.0)])
    positives[0, 1] = -9999.0
    report = diagnose(RCQ(random_state=0).fit(positives), of_a_year)
    found = {finding.code: finding for finding in report.findings}
    for warning in report.prevalence.warnings:
        assert found[warning.code].severity == warning.severity
    assert "above 2007.5" in found["context-column"].sentence or "2008" in str(
        found["context-column"]
    )
    assert found["code-among-positives"].severity == "do not use"
    assert report.severity == report.prevalence.verdict.status == "do not use"
