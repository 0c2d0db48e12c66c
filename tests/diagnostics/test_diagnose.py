"""The assumption report: what the answer says, at length, and nothing else."""

import gc
import html.parser
import json
import pickle
import weakref
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import (
    DEDPUL,
    PAT,
    RCQ,
    TRCQ,
    InputError,
    Minimum,
    MultiRCQ,
    ODIn,
    SubclassRCQ,
    compare_samples,
    diagnose,
)
from poscount.results.verdict import SEVERITIES
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
def in_other_units(clean):
    rows = clean.copy()
    rows[:, 2] = 1000 * rows[:, 2] + 9000
    return rows


@pytest.fixture(scope="module")
def rcq(learned):
    return RCQ(random_state=0).fit(learned)


def codes(report):
    return [warning.code for warning in report.warnings]


# What it says


@pytest.mark.parametrize("sample", ["clean", "in_other_units"])
@pytest.mark.parametrize("model", [RCQ(random_state=0), TRCQ(random_state=0)])
def test_the_report_says_what_the_answer_says(model, sample, learned, request):
    rows = request.getfixturevalue(sample)
    report = diagnose(model.fit(learned), rows, positives=learned)
    answer = model.quantify(rows)
    assert_same_answer(report.prevalence, answer)
    assert report.by_rcq is None
    assert sorted(codes(report)) == sorted(warning.code for warning in answer.warnings)
    assert report.verdict == answer.verdict
    assert (report.verdict.status == "no reason to doubt") == (sample == "clean")


def test_kinds_that_are_counted_one_by_one_have_a_report(learned, clean):
    model = SubclassRCQ(2, random_state=0).fit(learned)
    report = diagnose(model, clean, positives=learned)
    assert_same_answer(report.prevalence, model.quantify(clean))
    assert [reading.code for reading in report.what_if] == ["typical", "recognisable", "both"]


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
def test_other_methods_get_the_checks_of_rcq(model, learned, clean, in_other_units):
    model.fit(learned)
    assert diagnose(model, in_other_units).by_rcq is None
    report = diagnose(model, in_other_units, positives=learned)
    assert_same_answer(report.by_rcq, RCQ(random_state=0).fit(learned).quantify(in_other_units))
    assert "other-units" in codes(report)
    assert report.verdict.status == "check"
    assert report.what_if is not None
    assert diagnose(model, clean, positives=learned).verdict.status == "no reason to doubt"


def test_labelled_positives_in_the_sample_are_told_first(rcq, learned, clean):
    report = diagnose(rcq, np.vstack([clean, learned]))
    assert_same_answer(report.prevalence, rcq.quantify(np.vstack([clean, learned])))
    assert codes(report)[0] == "positives-in-sample"


def test_the_worst_comes_first(rcq, learned):
    sample = halves(np.random.default_rng(6), 400)
    sample[:, 2] = 1000 * sample[:, 2] + 9000
    report = diagnose(rcq, np.vstack([learned[:5], sample]))
    severities = [SEVERITIES.index(warning.severity) for warning in report.warnings]
    assert severities == sorted(severities, reverse=True)
    assert len(set(severities)) > 1
    text = str(report)
    places = [text.index(f"{warning.code}\n") for warning in report.warnings]
    assert places == sorted(places)
    assert text.startswith(f"{report.prevalence!r}\n{report.verdict}")


def test_a_second_sample_tells_overlap_from_drift(rcq):
    rng = np.random.default_rng(5)

    def overlapping(n_positive, n_negative):
        return np.vstack([halves(rng, n_positive), halves(rng, n_negative, first=0.0)])

    one, other = overlapping(500, 500), overlapping(150, 850)
    found = diagnose(rcq, one, reference=other).comparison
    assert found.reading == "overlap"
    assert "trust RCQ rather than PAT" in str(found)
    assert str(found) == str(compare_samples(rcq, rcq.count(one), rcq.count(other)))
    found = diagnose(rcq, mixture(rng, 700, 300, 0.15), reference=mixture(rng, 200, 800, 0.15))
    assert found.comparison.reading == "drift"
    assert "trust PAT rather than RCQ" in str(found)
    found = diagnose(rcq, mixture(rng, 500, 500, 0.15), reference=mixture(rng, 500, 500, 0.15))
    assert found.comparison.reading == "close"
    assert "too close to tell" in found.to_dict()["comparison"]["sentence"]


def test_kinds_need_the_positives(rcq, learned, clean):
    assert [reading.code for reading in diagnose(rcq, clean).what_if] == ["typical", "both"]
    found = diagnose(rcq, clean, positives=learned).what_if
    assert [reading.code for reading in found] == ["typical", "recognisable", "both"]
    assert str(found) in str(diagnose(rcq, clean, positives=learned))


def test_twice_the_same(rcq, learned, clean):
    one, two = (diagnose(rcq, clean, positives=learned) for _ in range(2))
    assert_same_answer(one, two)
    assert one.to_html() == two.to_html()


def test_a_report_does_not_keep_the_sample(learned, clean):
    rows = clean.copy()
    seen = weakref.ref(rows)
    report = diagnose(PAT(random_state=0).fit(learned), rows)
    del rows
    gc.collect()
    assert seen() is None
    assert report.prevalence.n_unlabeled == len(clean)


# Whatever comes in


def test_frames_by_name(make_frame):
    rng = np.random.default_rng(10)
    learned, sample = halves(rng, 200, d=3), mixture(rng, 200, 300)[:, :3]
    frame, positives = make_frame(sample), make_frame(learned)
    for method in (RCQ, PAT):
        of_frame = method(random_state=0).fit(positives)
        given = diagnose(of_frame, frame, positives=positives, reference=frame)
        of_array = method(random_state=0).fit(learned)
        plain = diagnose(of_array, sample, positives=learned, reference=sample)
        assert float(given.prevalence) == float(plain.prevalence)
        assert given.comparison.difference == plain.comparison.difference == 0


def test_rows_that_are_not_plain_numbers(learned, clean):
    holes = clean.copy()
    holes[3, 1] = np.nan
    model = PAT(make_pipeline(SimpleImputer(), OneClassSVM()), random_state=0).fit(learned)
    assert diagnose(model, holes, positives=learned).by_rcq is not None
    thin, rows = sparse.csr_array(learned), sparse.csr_array(clean)
    model = PAT(OneClassSVM(), random_state=0).fit(thin)
    assert diagnose(model, rows).by_rcq is None
    with pytest.raises(InputError, match="RCQ cannot learn from these positives: Only 5"):
        diagnose(model, rows, positives=thin)
    words = pd.DataFrame(learned[:, :3], columns=list("abc")).assign(word="one")
    model = RCQ(random_state=0).fit(words)
    assert diagnose(model, words[:200], positives=words).what_if is not None


def test_wrong_input(rcq, learned, clean):
    with pytest.raises(InputError, match="299 positives, but the model was fitted on 300"):
        diagnose(rcq, clean, positives=learned[1:])
    with pytest.raises(InputError, match="The sample has no rows"):
        diagnose(rcq, clean[:0])
    with pytest.raises(InputError, match="have no rows"):
        diagnose(rcq, clean, reference=clean[:0])
    with pytest.raises(ValueError, match="4 features"):
        diagnose(rcq, clean, reference=clean[:, :4])
    with pytest.raises(InputError, match="give the positives"):
        diagnose(PAT(random_state=0).fit(learned), clean, reference=clean)
    with pytest.raises(InputError, match="about one target, and this model has 2"):
        diagnose(MultiRCQ(random_state=0).fit({"a": learned, "b": learned + 1}), clean)


def test_few_positives(learned, clean):
    model = RCQ(random_state=0).fit(learned[:12])
    report = diagnose(model, clean, positives=learned[:12])
    assert "few-positives-for-rcq" in codes(report)
    assert report.what_if is None
    with pytest.raises(ValueError, match="12 positives are too few"):
        diagnose(model, clean, reference=clean)


def test_any_finite_numbers(rcq, learned):
    huge = np.full((50, D), 1e308)
    huge[::2] = 0.0
    found = diagnose(rcq, huge, positives=learned, reference=learned)
    json.loads(found.to_json())


# JSON and HTML


def test_json_holds_everything_but_pictures(rcq, learned, in_other_units):
    report = diagnose(rcq, in_other_units, positives=learned, reference=in_other_units)
    content = json.loads(report.to_json())
    assert content == report.to_dict()
    assert content["prevalence"] == report.prevalence.to_dict()
    assert [warning["code"] for warning in content["warnings"]] == codes(report)
    assert content["comparison"]["sentence"] == str(report.comparison)
    assert set(content) == {
        *("verdict", "prevalence", "by_rcq", "comparison", "what_if", "warnings")
    }


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


def test_the_page_needs_nothing_and_runs_nothing(learned, in_other_units, tmp_path):
    pytest.importorskip("matplotlib")
    names = ["<b>a</b>", "a & b", "<script>alert(1)</script>", "$x^2$", "e"]
    frame, sample = (pd.DataFrame(x, columns=names) for x in (learned, in_other_units))
    model = RCQ(random_state=0).fit(frame)
    path = tmp_path / "report.html"
    page = diagnose(model, sample, positives=frame, reference=sample).to_html(path)
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


def test_the_page_says_what_the_text_says(learned, in_other_units):
    pytest.importorskip("matplotlib")
    model = PAT(random_state=0).fit(learned)
    report = diagnose(model, in_other_units, positives=learned, reference=learned)
    text = " ".join(ET.fromstring(report.to_html().partition("\n")[2]).itertext())
    for part in (str(report.verdict), str(report.comparison), "RCQ, from the same positives"):
        assert part in text
    for warning in report.warnings:
        assert warning.sentence in text
    for reading in report.what_if:
        assert str(reading) in text


def test_no_figure_is_left_open(rcq, learned, clean):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    report = diagnose(rcq, clean)
    report.to_html()
    assert plt.get_fignums() == []
    assert len(report.pictures) == 2
    of_pat = diagnose(PAT(random_state=0).fit(learned), clean)
    (curve,) = of_pat.pictures
    for picture in (*report.pictures, curve):
        _, ax = plt.subplots()
        picture(ax)
        assert ax.get_title() or ax.get_title("right")
    plt.close("all")


def test_a_diagnosis_travels(rcq, learned, clean):
    report = diagnose(rcq, clean, positives=learned)
    copy = pickle.loads(pickle.dumps(report))
    assert_same_answer(copy, report)
    assert copy.to_html() == report.to_html()
