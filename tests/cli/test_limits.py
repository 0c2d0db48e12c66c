"""--limit: how likely a share is above a limit, in each form of a result."""

import csv
import io

import pytest

from poscount import PAT, RCQ, MultiRCQ
from poscount.cli.options import limits
from poscount.example import example_path, load_example

POSITIVES = str(example_path("positives.csv"))
TRAP = str(example_path("trap.csv.gz"))


@pytest.fixture(scope="module")
def fitted():
    return RCQ(random_state=0).fit(load_example("pyarrow").positives)


@pytest.fixture(scope="module")
def model(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.poscount"
    fitted.save(path)
    return path


def test_shares_are_written_in_percent_or_as_numbers():
    assert limits(["5%", " 0.7 % ", "0.05", "0"]) == [0.05, 0.007, 0.0]
    assert limits(None) == []


@pytest.mark.parametrize("text", ["150%", "100%", "1", "5", "-5%", "nan", "inf%", "many", "%", ""])
def test_nonsense_is_refused_before_anything_is_read(refused, text):
    for command in ("quantify", "estimate"):
        said = refused(command, "no such file", "nor this", f"--limit={text}")
        assert f"{text!r} is not a share from 0 to below 100 %." in said
        assert said.endswith("Pass --limit '5%'.")


def test_a_table_has_a_column_for_each_limit(poscount_, model, fitted):
    command = ("quantify", model, TRAP, "--limit", "5%", "--limit", "0.3")
    heads, line = poscount_(*command).out.splitlines()[:2]
    assert "above 5 %  above 30 %" in heads
    p = fitted.quantify(load_example("pyarrow").trap)
    assert f"{100 * p.distribution.above(0.05):.0f} %" in line
    assert f"{100 * p.distribution.above(0.3):.0f} %" in line
    assert "above" not in poscount_("quantify", model, TRAP).out


def test_groups_in_csv_and_json(poscount_, model, fitted):
    trap = load_example("pyarrow").trap
    answers = fitted.quantify_groups(trap, "night")
    expected = [p.distribution.above(0.25) for p in (answers.total, *answers.values())]
    assert 0 < min(0.5, *filter(None, expected)) < max(expected) < 1
    command = ("quantify", model, TRAP, "--by", "night", "--limit", "25%")
    lines = csv.DictReader(io.StringIO(poscount_(*command, "--format", "csv").out))
    assert [float(line["above_0.25"]) for line in lines] == expected
    results = poscount_(*command, "--format", "json").results()
    assert [result["limits"] for result in results] == [
        [{"limit": 0.25, "above": above}] for above in expected
    ]
    assert "limits" not in poscount_("quantify", model, TRAP, "--format", "json").out


def test_nothing_is_certain_in_a_table(poscount_, tmp_path):
    PAT(random_state=0).fit(load_example("pyarrow").positives).save(tmp_path / "pat")
    command = ("quantify", tmp_path / "pat", TRAP, "--by", "night", "--limit", "25%")
    first, *_, last = poscount_(*command).out.splitlines()[2:11]
    assert " < 1 % " in first
    assert " > 99 % " in last


def test_each_target_has_its_own(poscount_, tmp_path):
    positives = load_example("pandas").positives
    half = len(positives) // 2
    model = MultiRCQ(random_state=0).fit({"one": positives[:half], "two": positives[half:]})
    model.save(tmp_path / "m.poscount")
    command = ("quantify", tmp_path / "m.poscount", TRAP, "--limit", "5%", "--format", "json")
    found = model.quantify(load_example("pandas").trap)
    assert {row["target"]: row["limits"][0]["above"] for row in poscount_(*command).results()} == {
        name: p.distribution.above(0.05) for name, p in found.items()
    }


def test_a_method_without_an_interval_cannot_say(poscount_, refused):
    command = ("estimate", POSITIVES, TRAP, "--method", "en", "--limit", "5%")
    said = refused(*command)
    assert said.startswith("poscount: EN gives no interval, so it cannot say how likely")
    assert said.endswith("Leave --limit out.")
    (result,) = poscount_(*command, "--bootstrap", 4, "--format", "json").results()
    assert result["limits"][0]["above"] > 0.5


def test_no_group_is_called_like_a_limit(refused, tmp_path, model):
    trap = load_example("pandas").trap.rename(columns={"night": "above_0.05"})
    trap.to_csv(tmp_path / "trap.csv", index=False)
    command = ("quantify", model, tmp_path / "trap.csv", "--by", "above_0.05", "--limit", "5%")
    assert "the result has a column of this name" in refused(*command)
