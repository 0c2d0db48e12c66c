"""Columns that know their place: groups, give-aways, contexts, running numbers, real tables."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import poscount
from answers import assert_same_answer
from poscount import PAT, RCQ
from poscount.app.data_files import DataFiles
from poscount.app.estimates import quantify
from poscount.app.fitting import fit
from poscount.checks.code_among_positives import far_values
from poscount.data.known_rows import KnownRows, learn_known_rows
from poscount.engines import count
from poscount.errors import InputError
from poscount.methods.regions import context

# The Palmer penguins (CC0), three years, three islands.
PENGUINS = pd.read_csv(Path(__file__).parent / "penguins.csv").dropna().reset_index(drop=True)


def codes(answer):
    return {warning.code for warning in answer.warnings}


@pytest.fixture(scope="module")
def penguins():
    """Labelled Adelie penguins, and all other rows, with the species for the truth."""
    adelie = PENGUINS[PENGUINS.species == "Adelie"]
    labelled = adelie.sample(70, random_state=0)
    return labelled.drop(columns="species"), PENGUINS.drop(labelled.index)


def write(folder, **tables):
    paths = []
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        paths.append(str(folder / f"{name}.csv"))
    return paths


# A column that groups are made by, and columns that give the group away


def test_penguins_by_year(penguins, tmp_path):
    labelled, others = penguins
    others = others.assign(season=others.year.map({2007: "a", 2008: "b", 2009: "c"}))
    labelled = labelled.assign(season=labelled.year.map({2007: "a", 2008: "b", 2009: "c"}))
    positives, sample = write(tmp_path, positives=labelled, sample=others.drop(columns="species"))
    data = DataFiles([sample])
    fitted = fit([DataFiles([positives])], options={"random_state": 0}, sample=data, by=["year"])
    assert fitted.of_groups == {
        "year": "makes the groups",
        "season": "has one value in each group",
    }
    assert not {"year", "season"} & set(fitted.model.feature_names_in_)
    total, *groups = quantify(fitted.model, data, by=["year"])
    truth = (others.species == "Adelie").groupby(others.year).mean()
    for result in groups:
        share = truth[int(result.group["year"])]
        # They were 0.0 / 0.1 / 0.0 %.
        assert abs(result.prevalence - share) < 0.15
    assert total.is_total
    assert total.group == {"year": "all rows"}
    assert abs(total.prevalence - (others.species == "Adelie").mean()) < 0.1


def test_a_feature_that_makes_groups_is_refused_by_a_fitted_model(penguins):
    labelled, others = penguins
    model = RCQ(random_state=0).fit(labelled)
    with pytest.raises(InputError, match="column 'year': rows cannot be grouped by a feature"):
        model.quantify_groups(others, "year")
    with pytest.raises(InputError, match="column 'year'"):
        count(model, others, by="year")


def test_columns_named_as_features_are_left_out_if_they_make_groups(penguins, tmp_path):
    labelled, others = penguins
    positives, sample = write(tmp_path, positives=labelled, sample=others)
    fitted = fit(
        [DataFiles([positives])],
        "pat",
        options={"random_state": 0},
        features=["bill_depth_mm", "bill_length_mm", "year"],
        sample=DataFiles([sample]),
        by=["year"],
    )
    assert fitted.model.feature_names_in_.tolist() == ["bill_depth_mm", "bill_length_mm"]
    assert fitted.of_groups == {"year": "makes the groups"}


@pytest.mark.parametrize("slips", [0, 1])
def test_a_site_for_each_night_gives_the_night_away(slips, tmp_path):
    rng = np.random.default_rng(0)
    n = 900
    table = pd.DataFrame({"size": rng.normal(size=n), "weight": rng.normal(size=n)})
    table["night"] = rng.integers(0, 9, n)
    table["site"] = np.where(table.night % 3 == 0, "north", "south")
    table.loc[: slips - 1, "site"] = "south" if table.site[0] == "north" else "north"
    # Rare values, and those that differ between groups by chance, give nothing away.
    table["rare"] = np.where(rng.random(n) < 0.01, "yes", "no")
    table["often"] = np.where(rng.random(n) < 0.2 + 0.07 * table.night, "yes", "no")
    positives, sample = write(tmp_path, positives=table[:300], sample=table[300:])
    fitted = fit(
        [DataFiles([positives])], "pat", options={}, sample=DataFiles([sample]), by=["night"]
    )
    assert fitted.of_groups == {"night": "makes the groups", "site": "has one value in each group"}
    assert fitted.model.feature_names_in_.tolist() == ["size", "weight", "rare", "often"]


# Samples from one context of the positives


def test_a_census_by_sex(penguins):
    labelled, others = penguins
    model = RCQ(random_state=0).fit(labelled)
    for sex in ("male", "female"):
        one = others[others.sex == sex]
        answer = model.quantify(one)
        truth = (one.species == "Adelie").mean()
        # It was .000 without a doubt.
        assert truth in answer.interval
        assert abs(answer - truth) < 0.12
        (warning,) = [w for w in answer.warnings if w.code == "context-column"]
        assert warning.severity == "note"
        assert f"Nearly all rows have sex {sex}" in warning.sentence
        assert "positives alone" in warning.sentence


def mixed(rng, n_positives, n_negatives, context):
    rows = np.vstack([rng.normal(size=(n_positives, 3)), rng.normal(size=(n_negatives, 3)) + 3])
    table = pd.DataFrame(rows, columns=list("abc"))
    return table.assign(where=rng.choice(context, len(table)))


def test_contexts_are_counted_by_their_own_positives():
    rng = np.random.default_rng(1)
    model = RCQ(random_state=0).fit(mixed(rng, 400, 0, ["x", "y", "z"]))
    groups = [mixed(rng, 120, 280, [site]).assign(g=site) for site in "xyz"]
    clean = [mixed(rng, 120, 280, ["x", "y", "z"]).assign(g=f"clean {i}") for i in range(3)]
    together = model.quantify_groups(pd.concat([*groups, *clean]), "g")
    for group, rows in zip("xyz", groups, strict=True):
        assert "context-column" in codes(together[group])
        assert abs(together[group] - 0.3) < 0.15
        assert_same_answer(together[group], model.quantify(rows))
        assert_same_answer(together[group], model.estimate(model.count(rows)))
    for i, rows in enumerate(clean):
        assert "context-column" not in codes(together[f"clean {i}"])
        assert_same_answer(together[f"clean {i}"], model.quantify(rows))
    table = model.quantify_by(pd.concat([*groups, *clean]), "g")
    assert table["prevalence"].tolist() == [float(p) for p in together.values()]


def test_a_sample_without_positives_is_not_taken_for_a_context():
    rng = np.random.default_rng(2)
    model = RCQ(random_state=0).fit(mixed(rng, 400, 0, ["x", "y", "z"]))
    answer = model.quantify(mixed(rng, 0, 400, ["x"]))
    assert answer < 0.02
    assert "context-column" not in codes(answer)


def test_too_few_positives_of_a_context_are_a_doubt():
    rng = np.random.default_rng(3)
    labelled = mixed(rng, 45, 0, ["x"])
    labelled["where"] = ["x", "y", "z"] * 15
    answer = RCQ(random_state=0).fit(labelled).quantify(mixed(rng, 120, 280, ["y"]))
    (warning,) = [w for w in answer.warnings if w.code == "context-column"]
    assert warning.severity == "check"
    assert warning.sentence.endswith("Leave out where when the model is fitted.")


def test_the_words_of_a_context():
    rng = np.random.default_rng(4)
    labelled = mixed(rng, 400, 0, [2007, 2008, 2009])
    model = RCQ(random_state=0).fit(labelled)
    said = {}
    for year in (2007, 2008, 2009):
        (warning,) = [
            w
            for w in model.quantify(mixed(rng, 120, 280, [year])).warnings
            if w.code == "context-column"
        ]
        said[year] = warning.sentence.split("rows have ")[1].split(",")[0]
    assert said == {
        2007: "where up to 2007.5",
        2008: "where between 2007.5 and 2008.5",
        2009: "where above 2008.5",
    }


def test_shares_of_some_positives_along_the_score():
    rng = np.random.default_rng(5)
    labelled = rng.normal(size=(2000, 3))
    part = RCQ(random_state=0).fit(labelled).part_
    everybody = part.of_some(np.ones(2000, bool))
    np.testing.assert_allclose(everybody.pat_shares, part.pat_shares, atol=1e-3)
    # Only those with the highest scores.
    few = part.of_some(part.binned_[:, 0] == 7)
    assert few.pat_shares[-1] == pytest.approx(1)
    assert few.n_labeled_ == np.count_nonzero(part.binned_[:, 0] == 7)


def test_the_test_of_a_context_is_one_of_chance():
    expected = np.array([3.9, 4.1, 100.0, 100.0])
    assert context._too_few(np.array([0, 0, 79, 81]), expected).tolist() == [
        *(False, True, True, False)
    ]


# Codes among the positives


@pytest.mark.parametrize(
    ("value", "severity"), [(-9999, "do not use"), (999, "do not use"), (1234.5, "note")]
)
def test_a_code_among_the_positives(value, severity):
    rng = np.random.default_rng(6)
    table = mixed(rng, 400, 0, ["x"]).drop(columns="where")
    assert "code-among-positives" not in codes(RCQ(random_state=0).fit(table).quantify(table[:50]))
    table.loc[[7, 9], "b"] = value
    sample = mixed(rng, 400, 600, ["x"])
    answer = RCQ(random_state=0).fit(table).quantify(sample)
    (warning,) = [w for w in answer.warnings if w.code == "code-among-positives"]
    assert warning.severity == severity
    assert f"In column b, 2 positives have {value:g}, far away" in warning.sentence
    assert ("positives with" in str(answer.verdict)) == (severity != "note")


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=300),
        np.random.default_rng(0).lognormal(sigma=1.5, size=300),
        np.random.default_rng(0).exponential(size=300) ** 2,
        np.repeat([0.0, 1.0], [299, 1]),
        np.repeat([0.0, 99.0], [290, 10]),
        np.arange(300.0),
        np.append(np.arange(80.0, 98.0), 99.0),
        np.full(300, np.nan),
    ],
    ids=["normal", "lognormal", "squares", "rare", "two values", "all", "ages", "missing"],
)
def test_what_is_no_code(column):
    assert not far_values(column[:, np.newaxis])[0, 1:].any()


def test_codes_of_tables_of_the_climate():
    assert far_values(np.append(np.linspace(0, 1, 30), 9.97e36)[:, np.newaxis])[0, 1] == 1


# Exchanged tables


def test_exchanged_tables():
    rng = np.random.default_rng(7)
    labelled, sample = rng.normal(size=(200, 4)), rng.normal(size=(300, 4))
    sample = np.vstack([sample, rng.normal(size=(700, 4)) + 3])
    right = RCQ(random_state=0).fit(labelled).quantify(sample)
    assert "swapped-tables" not in codes(right)
    wrong = RCQ(random_state=0).fit(sample).quantify(labelled)
    assert abs(wrong - 0.3) > 0.15
    (warning,) = [w for w in wrong.warnings if w.code == "swapped-tables"]
    assert warning.severity == "check"
    assert "give the labelled positives first" in warning.sentence


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 1])
@pytest.mark.parametrize("n", [30, 100, 1000])
def test_clean_samples_are_not_taken_for_exchanged_ones(share, n):
    rng = np.random.default_rng(8)
    model = RCQ(random_state=0).fit(rng.normal(size=(400, 4)))
    k = round(share * n)
    rows = np.vstack([rng.normal(size=(k, 4)), rng.normal(size=(n - k, 4)) + 2])
    assert "swapped-tables" not in codes(model.quantify(rows))


# Labelled positives in the sample


@pytest.fixture(scope="module")
def register():
    """A register of 1,000 rows, 300 of them positive, of which 120 are known."""
    rng = np.random.default_rng(9)
    table = mixed(rng, 300, 700, ["x", "y"])
    return table[:120], table


def test_positives_in_the_sample_are_said_first_and_left_out(register):
    labelled, table = register
    model = RCQ(random_state=0).fit(labelled)
    answer = model.quantify(table)
    assert answer.warnings[0].code == "positives-in-sample"
    assert answer.warnings[0].sentence.startswith("120 labelled positives are in the sample, too")
    rest = model.without_positives(table)
    assert rest.equals(table[120:])
    without = model.quantify(rest)
    assert "positives-in-sample" not in codes(without)
    assert 180 / 880 in without.interval
    assert_same_answer(without, model.quantify(table[120:]))
    assert len(model.without_positives(table[120:])) == 880


def test_a_row_is_left_out_once_for_each_copy(register):
    labelled, table = register
    model = PAT(random_state=0).fit(pd.concat([labelled, labelled[:1]]))
    three = pd.concat([table, labelled[:1], labelled[:1]])
    # Labelled twice, and three times in the sample.
    assert len(model.without_positives(three)) == len(three) - 121
    assert model.without_positives(three).iloc[-1].equals(labelled.iloc[0])


def test_positives_are_known_after_loading_and_in_every_kind_of_table(register, tmp_path):
    labelled, table = register
    model = RCQ(random_state=0).fit(labelled)
    model.save(tmp_path / "m.poscount")
    loaded = poscount.load(tmp_path / "m.poscount")
    assert len(loaded.without_positives(table)) == 880
    assert loaded.without_positives(pa.Table.from_pandas(table)).num_rows == 880
    array = PAT(random_state=0).fit(labelled[["a", "b", "c"]].to_numpy())
    assert array.without_positives(table[["a", "b", "c"]].to_numpy()).shape == (880, 3)


def test_coarse_values_do_not_tell_positives_from_others():
    rng = np.random.default_rng(10)
    rows = rng.integers(0, 4, size=(900, 3)).astype(float)
    model = PAT(random_state=0).fit(rows[:300])
    assert "positives-in-sample" not in codes(model.quantify(rows))
    with pytest.raises(InputError, match="so coarse that rows are equal by chance"):
        model.without_positives(rows)


def test_batches_find_what_the_whole_finds(register):
    labelled, table = (each[["a", "b", "c"]].to_numpy() for each in register)
    known = [KnownRows(*learn_known_rows(labelled)) for _ in range(2)]
    whole = known[0].find(table)
    parts = [known[1].find(part) for part in np.array_split(table, 7)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert whole.nonzero()[0].tolist() == list(range(120))
    assert known[0].n_found == known[1].n_found == 120


def test_positives_of_another_precision_are_known():
    rows = np.random.default_rng(11).normal(size=(500, 3)).astype(np.float32)
    model = PAT(random_state=0).fit(rows[:200])
    assert len(model.without_positives(rows)) == 300
    assert len(model.without_positives(rows.astype(float))) == 300


@pytest.mark.parametrize("by", [[], ["site"]])
def test_files_with_positives_in_the_sample(register, tmp_path, by):
    labelled, table = (each.assign(site=np.arange(len(each)) % 3) for each in register)
    positives, sample = write(tmp_path, positives=labelled, sample=table)
    data = DataFiles([sample])
    model = fit([DataFiles([positives])], "pat", options={"random_state": 0}, by=by).model
    first, *groups = quantify(model, data, by=by)
    assert first.prevalence.warnings[0].code == "positives-in-sample"
    assert len(groups) == 3 * len(by)
    first, *groups = quantify(model, data, by=by, drop_positives=True)
    assert first.prevalence.n_unlabeled == 880
    assert sum(group.prevalence.n_unlabeled for group in groups) == 880 * len(by)
    assert "positives-in-sample" not in codes(first.prevalence)
    expected = model.quantify(table[120:])
    assert_same_answer(first.prevalence, expected)


def test_positives_cannot_be_dropped_from_counts(register, tmp_path):
    labelled, table = register
    model = PAT(random_state=0).fit(labelled)
    model.count(table).save(tmp_path / "a.counts")
    with pytest.raises(InputError, match="not in counts files") as error:
        quantify(model, DataFiles([str(tmp_path / "a.counts")]), drop_positives=True)
    assert error.value.option == "drop_positives"
    # If all of them are in the sample, counts can be subtracted.
    rest = model.count(table) - model.count(labelled)
    assert_same_answer(model.estimate(rest), model.quantify(table[120:]))


# Groups


def test_the_total_is_that_of_all_rows(register):
    labelled, table = register
    table = table.assign(g=np.arange(len(table)) % 100)
    model = RCQ(random_state=0).fit(labelled[["a", "b", "c"]])
    answers = model.quantify_groups(table, "g")
    assert len(answers) == 100
    assert_same_answer(answers.total, model.quantify(table))
    counts = model.count_by(table, "g")
    assert counts.together == model.count(table)
    weighted = model.quantify_groups(table.assign(w=1.5), "g", weights="w")
    expected = model.quantify(table, weights=np.full(len(table), 1.5))
    assert_same_answer(weighted.total, expected)
    # Ten rows say little, and it is said.
    assert all("few-rows" in codes(p) for p in answers.values())
    assert "few-rows" not in codes(answers.total)


def test_the_total_is_on_top_everywhere(register, tmp_path, capsys, monkeypatch):
    from poscount.cli import main

    labelled, table = (each.assign(g=np.arange(len(each)) % 3) for each in register)
    positives, sample = write(tmp_path, positives=labelled, sample=table)
    command = ["poscount", "estimate", positives, sample, "--by", "g", "--drop-positives"]
    printed = {}
    for form in ("table", "json", "csv"):
        monkeypatch.setattr("sys.argv", [*command, "--format", form])
        with contextlib.suppress(SystemExit):
            main()
        said = capsys.readouterr()
        printed[form] = said.out
        assert "Not used as features: column 'g' makes the groups." in said.err
    first, *groups = json.loads(printed["json"])
    assert (first["g"], first["is_total"], first["n_unlabeled"]) == ("all rows", True, 880)
    assert all("is_total" not in group for group in groups)
    lines = printed["csv"].splitlines()
    assert len(lines) == 5
    assert lines[1].startswith(f"all rows,{first['prevalence']},")
    assert printed["table"].splitlines()[1].startswith("all rows ")
