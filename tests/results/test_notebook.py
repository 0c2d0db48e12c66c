"""What a notebook shows last: HTML that needs nothing else, pictures, tables that can be read."""

import html.parser
import pickle
import re
import sys

import numpy as np
import pyarrow as pa
import pytest

from answers import assert_same_answer, distribution_of
from poscount import RCQ, Interval, MultiRCQ, Prevalence, audit, diagnose, settle, trend
from poscount.results.groups import GroupAnswers
from poscount.results.notebook import MOST_ROWS as MOST_HTML_ROWS
from poscount.results.tables import MOST_NAMED, MOST_ROWS, named_warnings
from poscount.results.target_shares import TargetShares
from poscount.results.verdict import AnswerWarning

HOSTILE = "<script>alert('1')</script>\x1b[31m\u202e&amp;"


def answer(value, *codes, low=0.1, high=0.9, name="PAT"):
    cautions = [AnswerWarning(code, f"{HOSTILE} {code}.", float(value)) for code in codes]
    return Prevalence(
        value,
        n_labeled=100,
        n_unlabeled=1600,
        method=name,
        distribution=distribution_of(min(low, value), value, max(high, value)),
        warnings=cautions,
    )


def rows(centre, n, seed):
    columns = np.random.default_rng(seed).normal(centre, 1, size=(3, n))
    return pa.table(dict(zip("abc", columns, strict=True)))


@pytest.fixture(scope="module")
def model():
    return RCQ(random_state=0).fit(rows(0, 300, 1))


@pytest.fixture(scope="module")
def trap():
    table = pa.concat_tables([rows(0, 500, 2), rows(2, 1500, 3)])
    days = [f"2026-01-{1 + i % 5:02}" for i in range(len(table))]
    return table.append_column("day", [days])


@pytest.fixture(scope="module")
def several(model, trap):
    """One of each kind of result, with text from data in it."""
    to_label = audit(model, trap, n=60)
    known = ["yes" if row < 500 else "no" for row in to_label["audit_row"].to_pylist()]
    at = to_label.column_names.index("label")
    labelled = to_label.set_column(at, "label", pa.array(known))
    hostile = trap.rename_columns([*"abc", HOSTILE])
    shares = {HOSTILE: answer(0.25, "few-rows"), "other": answer(0.75)}
    return {
        "prevalence": answer(0.3, "few-rows", name=HOSTILE),
        "targets": TargetShares(shares),
        "groups": model.quantify_groups(hostile, HOSTILE),
        "groups of targets": GroupAnswers([((HOSTILE, None), TargetShares(shares))], ["a", "b"]),
        "trend": trend(model, hostile, HOSTILE, baseline=1),
        "settlement": settle(model, trap, labelled),
    }


class Page(html.parser.HTMLParser):
    """Elements in order, with all of them closed, and the text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)
        self.attributes += attrs

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


KINDS = ["prevalence", "targets", "groups", "groups of targets", "trend", "settlement"]


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_small_escaped_and_needs_nothing_else(several, kind):
    text = several[kind]._repr_html_()
    page = Page(text)
    assert len(text) < 12_000
    assert not {"script", "style", "link", "img", "iframe", "foreignobject"} & set(page.seen)
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("href", "src", "class", "id")
        assert "url(" not in value
    assert "svg" in page.seen
    assert not re.search("[\x00-\x1f\u202e]", text)
    # Colours of the page around it, apart from the bar itself.
    assert set(re.findall("#[0-9a-f]{3,6}", text)) == {"#1f83c4"}
    assert re.search(r"\d\.\d %", page.text)
    if kind != "settlement":
        assert r"<script>alert('1')</script>\x1b[31m\u202e&amp;" in page.text


def test_everything_else_has_html(model, trap):
    counts = model.count(trap)
    hostile = trap.rename_columns([*"ab", HOSTILE, "day"])
    other = RCQ(random_state=0).fit(rows(0, 300, 1).rename_columns([*"ab", HOSTILE]))
    diagnosis = diagnose(other, hostile, reference=rows(0, 300, 4).rename_columns([*"ab", HOSTILE]))
    said = {
        f"{counts.n:,} rows": counts,
        str(diagnosis.comparison)[:40]: diagnosis.comparison,
        "Second sample": diagnosis,
        "used as a number": other.columns_,
    }
    for words, each in said.items():
        page = Page(each._repr_html_())
        assert words in page.text
        assert "script" not in page.seen
    html = other.columns_._repr_mimebundle_()["text/html"]
    assert r"<script>alert('1')</script>\x1b[31m\u202e&amp;" in Page(html).text


def test_html_of_one_answer_says_everything():
    text = Page(answer(0.3, "few-rows", "wide")._repr_html_()).text
    assert "30.0 % positives, 95 % interval 10.0 to 90.0 %" in text
    assert "Verdict: No reason to doubt." in text
    assert "few-rows: <script>" in text
    assert "1,600 rows, about 480 positives; learned from 100" in text


def test_the_bar_is_drawn_to_scale():
    (bar,) = re.findall("<svg.*</svg>", answer(0.25, low=0.0, high=0.5)._repr_html_())
    assert 'aria-label="25.0 %, interval 0.0 to 50.0 %"' in bar
    _, track, value = (float(x) for x in re.findall(r' width="([\d.]+)"', bar))
    assert value == track / 4
    low, high = (float(x) for x in re.findall(r"M([\d.]+) 8H([\d.]+)", bar)[0])
    assert (low - 6, high - 6) == (0, track / 2)


def test_html_without_an_interval_and_without_groups():
    bare = Prevalence(1.0, n_labeled=1, n_unlabeled=1, method="EN")
    assert "100.0 % positives" in Page(bare._repr_html_()).text
    assert "interval" not in bare.summary()
    assert Page(GroupAnswers([], ["day"])._repr_html_()).text == ""
    assert repr(GroupAnswers([], ["day"])) == "GroupAnswers()"


def test_long_tables_are_cut_and_say_so():
    answers = GroupAnswers((((i,), answer(0.5)) for i in range(1234)), ["day"])
    lines = repr(answers).splitlines()
    assert lines[-1] == f"... and {1234 - MOST_ROWS:,} more"
    assert len(lines) == MOST_ROWS + 2
    page = Page(answers._repr_html_())
    assert f"... and {1234 - MOST_HTML_ROWS:,} more rows." in page.text
    assert page.seen.count("svg") == MOST_HTML_ROWS


def test_warnings_name_the_groups_they_are_about():
    answers = [(f"day {i}", answer(i / 100, "few-rows")) for i in range(3)]
    ((head, sentence),) = named_warnings(answers)
    assert head == "few-rows, day 0, day 1, day 2 (worst: day 2):"
    assert sentence.endswith("few-rows.")
    many = [(f"day {i}", answer(0.5, "few-rows")) for i in range(MOST_NAMED + 3)]
    ((head, _),) = named_warnings(many)
    assert "and 3 more (worst: day 0):" in head


# In one line, and as a number


def test_summary_is_one_line_with_interval_and_verdict():
    p = answer(0.3, "few-rows", "wide")
    assert p.summary() == (
        "30.0 % of 1,600 rows are positive (95 % interval 10.0 to 90.0 %). No reason to doubt. "
        "Warnings: few-rows, wide. PAT."
    )
    assert str(p) == "0.3"


def test_an_interval_is_two_ends():
    low, high = interval = answer(0.3).interval
    assert (low, high) == (interval.low, interval.high) == (0.1, 0.9)
    assert bool(Interval(0.0, 0.0, 0.95))
    assert 0.5 in interval


# Groups


def test_groups_are_a_dictionary_and_a_table(model, trap):
    answers = model.quantify_groups(trap, "day")
    assert isinstance(answers, dict)
    assert answers.by == ("day",)
    copied = pickle.loads(pickle.dumps(answers))
    assert (copied.by, repr(copied)) == (answers.by, repr(answers))
    assert_same_answer(copied.total, answers.total)
    head, total, first, *_ = repr(answers).splitlines()
    assert head.split()[:2] == ["day", "prevalence"]
    assert total.startswith(f"all rows         {answers.total:.3f}")
    assert_same_answer(answers.total, model.quantify(trap))
    p = answers[("2026-01-01",)]
    assert answers["2026-01-01"] is answers.get("2026-01-01") is p
    assert "2026-01-01" in answers
    assert "2026-01-09" not in answers
    assert answers.get("2026-01-09") is None
    with pytest.raises(KeyError):
        answers["2026-01-09"]
    assert first.startswith("2026-01-01 ")
    assert f" {p:.3f}  [{p.interval.low:.3f}, {p.interval.high:.3f}]  " in first


def test_groups_of_targets_have_a_line_for_each(trap):
    model = MultiRCQ(random_state=0).fit({"one": rows(0, 100, 4), "two": rows(4, 100, 5)})
    lines = repr(model.quantify_groups(trap, "day")).splitlines()
    assert lines[0].split()[:3] == ["day", "target", "prevalence"]
    assert [line.split()[2] for line in lines[1:4]] == ["one", "two", "other"]
    assert [line[:8] for line in lines[1:5]] == [*["all rows"] * 3, "2026-01-"]
    assert len(lines) == 1 + 3 * (1 + 5)


def test_groups_as_a_frame(model, trap):
    answers = model.quantify_groups(trap, "day")
    assert answers.to_frame().to_pylist() == model.quantify_by(trap, "day").to_pylist()
    several = MultiRCQ(random_state=0).fit({"one": rows(0, 100, 4), "two": rows(4, 100, 5)})
    found = several.quantify_groups(trap, "day").to_frame()
    assert found.to_pylist() == several.quantify_by(trap, "day").to_pylist()


# Pictures


@pytest.mark.usefixtures("plain_pictures")
@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
@pytest.mark.parametrize("kind", KINDS)
def test_every_result_draws_itself(several, kind, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    drawn = several[kind].plot()
    assert repr(drawn) == f"{type(drawn).__name__}()"
    drawn.figure_.savefig(tmp_path / "x.png")
    _, ax = plt.subplots()
    assert several[kind].plot(ax=ax).ax_ is ax
    plt.close("all")


@pytest.mark.usefixtures("plain_pictures")
def test_the_picture_of_one_answer():
    pytest.importorskip("matplotlib")
    ax = answer(0.3).plot().ax_
    (bar,) = ax.containers[0]
    assert bar.get_width() == pytest.approx(30)
    (segment,) = ax.collections[0].get_segments()
    assert segment[:, 0].tolist() == pytest.approx([10, 90])
    assert ax.get_xlim() == (0, 100)
    assert ax.get_title(loc="left").startswith("30.0 % of 1,600 rows, PAT\nNo reason to doubt.")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "poscount\[plot\]"'):
        answer(0.3).plot()
