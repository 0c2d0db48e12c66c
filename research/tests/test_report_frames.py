"""From evaluations to the cells of tables: known answers from constructed results files."""

import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from research import published
from research.experiments.methods import select
from research.report import frames, paper_comparison, paper_tests, significance
from research.tests.results_file import points, same, threshold_curve, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def errors_of(path):
    frame = frames.errors(frames.read(path).evaluations)
    return frame.set_index(["table", "dataset", "method"])


def test_mean_and_standard_deviation(path):
    # At every prevalence: 2 and 4 points in two repetitions. The sign must not matter.
    write(path, {("1", "A", "pat"): points(lambda repetition, fold: 2 + 2 * repetition)}, folds=1)
    cell = errors_of(path).loc["1", "A", "pat"]
    assert cell["mae"] == pytest.approx(3)
    assert cell["sd"] == pytest.approx(math.sqrt(2))


def test_the_deviation_is_that_at_one_prevalence(path):
    # Errors that differ between prevalences but never at one: the paper's deviation is 0.
    def answer(*place):
        return same(place[6])(*place)

    write(path, {("1", "A", "pat"): answer})
    cell = errors_of(path).loc["1", "A", "pat"]
    assert cell["mae"] == pytest.approx(5)
    assert cell["sd"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([1], (1, 1, 1)),
        ([5, 1], (5, 5, 5)),  # the paper's H: of two sub-classes the worse one
        ([3, 1, 4, 2], (3, 4, 4)),
        ([3, 1, 5, 4, 2], (3, 4, 5)),
    ],
)
def test_over_sub_classes(path, errors, expected):
    made = {("3", "made", "pat", f"n{i}"): same(error) for i, error in enumerate(errors)}
    write(path, made)
    frame = errors_of(path)["mae"]
    assert [frame[t, "made", "pat"] for t in ("3a", "3b", "3c")] == pytest.approx(expected)


def test_the_oracle_takes_the_best_threshold_of_each_data_set(path):
    made = {("1", d, "bft"): same(0, curve=threshold_curve(t)) for d, t in [("A", 40), ("W", 7)]}
    write(path, made)
    read = frames.read(path)
    assert {c.dataset: c.mae.argmin() for c in read.curves} == {"A": 40, "W": 7}
    assert np.allclose(read.evaluations["estimate"], read.evaluations["truth"])
    # Ten percentiles off is one point.
    assert read.curves[0].mae[50] == pytest.approx(1)
    assert errors_of(path)["mae"].to_numpy() == pytest.approx(0)


def test_the_oracle_takes_one_threshold_for_all_sub_classes(path):
    best = {"x": 10, "y": 20, "z": 30}
    write(
        path, {("3", "made", "bft", n): same(0, curve=threshold_curve(t)) for n, t in best.items()}
    )
    frame = errors_of(path)
    # 20, which is right for y and one point off for the others.
    assert frame.loc[("3a", "made", "bft"), "mae"] == pytest.approx(1)
    assert frame.loc[("3c", "made", "bft"), "mae"] == pytest.approx(1)
    assert [c.mae.argmin() for c in frames.read(path).curves] == [20]


def test_errors_of_experiment_2_beside_the_paper_are_measured_as_the_authors_did(path):
    write(path, {("2", "A", "pat"): same(0)})
    with sqlite3.connect(path) as connection:
        # Of 500 rows wanted at every point, only 400 were drawn at the ninth, 90 % positives.
        connection.execute("UPDATE evaluations SET n_unlabeled = 500")
        connection.execute("UPDATE evaluations SET n_unlabeled = 400 WHERE point = 9")
    frame = errors_of(path)
    assert frame.loc[("2", "A", "pat"), "mae"] == pytest.approx(0, abs=1e-12)
    theirs = 100 * (0.9 - 0.9 * 400 / 500) / 11
    assert frame.loc[("2", "A", "pat"), "published_mae"] == pytest.approx(theirs)


def test_a_single_sub_class_has_the_samples_of_1_too(path):
    made = {("1", "W", "pat"): same(1), ("3", "W", "pat", "white"): same(3)}
    made |= {("1", "P", "pat"): same(1), ("1", "W", "rcq"): same(2)}
    write(path, made)
    frame = errors_of(path)
    for table in ("3a", "3b", "3c"):
        assert frame.loc[(table, "W", "pat"), "mae"] == pytest.approx(2)
        assert frame.loc[(table, "W", "pat"), "folds"] == 8
    assert frame.loc[("1", "W", "pat"), "mae"] == pytest.approx(1)
    assert ("3a", "W", "rcq") not in frame.index
    assert ("3a", "P", "pat") not in frame.index


def test_the_oracle_takes_one_threshold_for_all_samples(path):
    def answer(*place):
        # Each sample alone would be right at another percentile; 20 is the best compromise.
        best = [10, 20, 30][place[4]]
        return same(0, curve=threshold_curve(best))(*place)

    write(path, {("1", "A", "bft"): answer}, repetitions=3)
    assert errors_of(path).loc[("1", "A", "bft"), "mae"] == pytest.approx(2 / 3)


def test_unfinished_cells_are_empty_and_failures_are_known(path):
    made = {
        ("1", "A", "pat"): same(1),
        ("1", "A", "tice"): same(2, failed=(3,)),
        ("3", "made", "pat", "x"): same(1),
        ("3", "made", "pat", "y"): same(2),
        ("3", "made", "tice", "x"): same(1),
        ("3", "P", "pat", "0"): same(1),  # P has eight sub-classes more
    }
    write(path, made)
    frame = errors_of(path)
    assert frame.loc[("3c", "made", "pat"), "mae"] == pytest.approx(2)
    assert math.isnan(frame.loc[("3c", "P", "pat"), "mae"])
    assert frame.loc[("1", "A", "pat"), "mae"] == pytest.approx(1)
    assert frame.loc[("1", "A", "tice"), ["mae", "sd", "published_mae"]].isna().all()
    assert frame.loc[("1", "A", "tice"), "failed"]
    assert math.isnan(frame.loc[("3c", "made", "tice"), "mae"])
    assert not frame.loc[("3c", "made", "tice"), "failed"]


def test_a_fold_is_a_fifth_of_a_repetition(path):
    made = {("1", "A", "pat"): same(1), ("4", "A", "pat"): same(1)}
    made |= {("3", "made", "pat", negative): same(1) for negative in "xy"}
    write(path, made, repetitions=2, folds=2)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM evaluations WHERE negative = 'y' AND repetition = 1")
    frame = frames.repetitions(frames.read(path).evaluations).set_index("experiment")
    assert frame["repetitions"].to_dict() == {"1": 0.8, "3": 0.4, "4": 1}


def test_intervals_and_seconds(path):
    made = {
        ("1", "A", "pat"): same(1, low=-0.02, high=0.03),
        ("1", "A", "odin"): same(1, low=0.01, high=0.03),
        ("1", "A", "tice"): same(1),
        ("4", "A", "pat"): same(1, seconds=0.25),
    }
    write(path, made)
    evaluations = frames.read(path).evaluations
    held = frames.intervals(evaluations).set_index("method")
    assert held["coverage"].to_dict() == {"pat": 100, "odin": 0}
    assert held["width"].to_dict() == pytest.approx({"pat": 5, "odin": 2})
    (times,) = frames.seconds(evaluations).to_dict("records")
    assert times == {"dataset": "A", "method": "pat", "fit": 0.5, "quantify": 11 * 0.25}
    theirs = paper_comparison.compare_seconds(frames.seconds(evaluations)).set_index("part")
    # What the paper trains anew for each of the eleven samples can be used again.
    trained = {"fit for each sample and quantify": 1.03, "fit once and quantify": 1.03}
    assert theirs["published"].to_dict() == {"quantify": 0.67} | trained
    trained = {"fit for each sample and quantify": 11 * 0.75, "fit once and quantify": 3.25}
    assert theirs["seconds"].to_dict() == {"quantify": 2.75} | trained


def frame_of(rows, columns="abc"):
    return pd.DataFrame(rows, index=[f"d{i}" for i in range(len(rows))], columns=list(columns))


def ranked(rows, failed=None):
    errors = frame_of(rows)
    return significance.rank(errors, frame_of(failed) if failed else errors.isna() & False)


def test_ranks_share_ties_and_failures_come_last():
    ranking = ranked([[1.0, 1.0, 2.0], [3.0, math.nan, math.nan]], [[0, 0, 0], [False, True, True]])
    assert ranking.ranks.to_numpy().tolist() == [[1.5, 1.5, 3], [1, 2.5, 2.5]]
    assert ranking.average.to_dict() == {"a": 1.25, "b": 2.0, "c": 2.75}
    assert ranking.left_out == []


def test_missing_cells_leave_out_as_little_as_possible():
    nan = math.nan
    ranking = ranked([[1.0, 2.0, nan], [1.0, 2.0, nan], [1.0, 2.0, 3.0]])
    assert ranking.ranks.shape == (3, 2)
    assert ranking.left_out == ["c"]
    ranking = ranked([[1.0, 2.0, 3.0], [nan, nan, 1.0], [1.0, 2.0, 3.0]])
    assert ranking.ranks.shape == (2, 3)
    assert ranking.left_out == ["d1"]
    assert ranked([[nan, nan, nan]]).ranks.size == 0


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.645), (5, 2.459), (9, 2.855), (10, 2.920)])
def test_critical_difference_by_the_table_of_demsar(n_methods, q):
    # Table 5 (a) of Demsar (2006), level 0.10; the difference is q sqrt(k (k + 1) / 6 N).
    ranks = pd.DataFrame(np.tile(np.arange(1.0, n_methods + 1), (10, 1)))
    expected = q * math.sqrt(n_methods * (n_methods + 1) / 60)
    found = significance.Ranking(ranks, []).critical_difference
    assert found == pytest.approx(expected, abs=5e-4 * expected)


def test_nemenyi_agrees_with_the_critical_difference():
    rng = np.random.default_rng(0)
    ranking = ranked((rng.random((12, 3)) + np.array([0, 0.3, 0.9])).tolist())
    averages = ranking.ranks.mean()
    p = ranking.nemenyi()
    for a in "abc":
        for b in set("abc") - {a}:
            apart = abs(averages[a] - averages[b]) > ranking.critical_difference
            assert (p.at[a, b] < significance.LEVEL) == apart
    assert {a < significance.LEVEL for a in p.to_numpy()[np.triu_indices(3, 1)]} == {True, False}


def test_friedman_of_a_perfect_order():
    # With k methods always in the same order on n data sets the statistic is n (k - 1).
    statistic, p = ranked([[1.0, 2.0, 3.0]] * 6).friedman()
    assert statistic == pytest.approx(12)
    assert p == pytest.approx(stats.chi2.sf(12, 2))
    assert ranked([[1.0, 2.0, 3.0]]).friedman() is None


def test_pat_against_the_others_with_holm_for_the_family_alone():
    # All of six differences have one sign: p = 2 / 2^6, times the two of the family.
    base = np.arange(6.0)
    columns = [base, base + 1 + base / 10, base + 5 + base**2, base - 1 - base / 7]
    found = significance.against(
        frame_of(np.column_stack(columns).tolist(), "abcd"), "a", ["b", "c"]
    )
    assert found["p"].to_list() == pytest.approx([2 / 64] * 3)
    assert found["holm"].to_list() == pytest.approx([4 / 64, 4 / 64, math.nan], nan_ok=True)
    assert found["better"].to_list() == [6, 6, 0]


def test_a_method_and_its_double_do_not_differ():
    errors = frame_of([[i, i, 2.0 * i + 1] for i in range(6)])
    assert significance.against(errors, "a", ["b"]).at["b", "p"] == 1


def test_pairs_that_nemenyi_separates():
    # Ten data sets: the critical difference of three methods at .1 is 2.052 sqrt(12 / 60) = .92.
    ranking = ranked([[1.0, 2.0, 3.0]] * 9 + [[2.0, 1.0, 3.0]])
    # Average ranks 1.1, 1.9, 3.
    assert ranking.different() == {("a", "c"), ("b", "c")}


def paper_file(path, shift=0.0):
    """Results that repeat the paper's #1, every error `shift` points higher."""
    names = {"pat": "PAT_M", "tice": "TIcE", "extice": "ExTIcE", "km1-published": "KM1"}
    made = {
        ("1", dataset, method): same(published.tables()["1", dataset, column].mae + shift)
        for dataset in published.DATASETS
        for method, column in names.items()
    }
    made["1", "W", "dedpul"] = same(1)
    made["1", "vowels", "pat"] = same(1)
    return write(path, made, repetitions=1, folds=1)


def test_the_paper_s_numbers_agree_with_the_paper(path):
    frame = frames.errors(frames.read(paper_file(path)).evaluations)
    compared = paper_comparison.compare_errors(frame)
    assert len(compared) == 4 * 6
    assert compared["within"].all()
    agreed = paper_comparison.agreement(frame, "1")
    assert agreed.spearman == pytest.approx(1)
    assert agreed.datasets == list(published.DATASETS)
    assert list(agreed.ranks.index[:2]) == ["PAT_M", "ExTIcE"]
    assert agreed.ranks["ours"].to_list() == agreed.ranks["published"].to_list()


def papers_own_cells(shuffled=False):
    """The paper's cells in the place of our errors."""
    names = {method.column: method.name for method in select(["paper"]) if method.column}
    rows = [
        (table, letter, names[column], cell.mae)
        for (table, letter, column), cell in published.tables().items()
        if letter in published.DATASETS
    ]
    frame = pd.DataFrame(rows, columns=["table", "dataset", "method", "published_mae"])
    if shuffled:
        frame["published_mae"] = np.random.default_rng(0).permutation(frame["published_mae"])
    return frame


def test_the_tests_that_the_paper_states():
    errors = papers_own_cells()
    found = paper_tests.compare_tests(errors).set_index(["table", "first"])
    assert len(found) == len(published.STATED_TESTS)
    # Three of the five are what the paper states.
    assert found.at[("1", "ExTIcE"), "paper_sum"] == pytest.approx(1, abs=0.005)
    assert found.at[("3b", "PAT_M"), "paper_sum"] == pytest.approx(0.03, abs=0.005)
    assert found.at[("3a", "TIcE"), "paper_sum"] == pytest.approx(0.36, abs=0.005)
    # Two are not. The ranks against PAT sum up to 2: so little have 3 of 1,024 patterns of signs.
    assert found.at[("1", "PAT_M"), "paper_sum"] == pytest.approx(0.023, abs=0.0005)
    assert found.at[("1", "PAT_M"), "paper_signed"] == pytest.approx(6 / 1024, abs=1e-9)
    assert found.at[("3c", "TIcE"), "paper_sum"] == pytest.approx(0.13, abs=0.005)
    # The paper's cells in our place.
    for test in ("sum", "signed"):
        assert found[f"ours_{test}"].to_list() == found[f"shared_{test}"].to_list()
    assert paper_tests.compare_tests(errors[errors["method"] == "pat"]).empty


def test_who_is_better_where_from_the_paper_s_own_cells():
    table, *_ = paper_tests.test_tables(papers_own_cells())
    assert len(table.rows) == 8
    found = {tuple(row[:3]): row[3:] for row in table.rows}
    assert all(theirs == ours for theirs, ours in found.values())
    # L: 2.99 and 3.18. A: 13.12 and 10.78.
    assert found["#1", "PAT", "BFT (oracle)"] == ["ACPRW", "ACPRW"]
    assert found["#1", "ExTIcE", "EN (auto)"] == ["CLPRW", "CLPRW"]
    # N, I and B, which are not among these.
    assert found["#3-c", "ExTIcE", "PAT"] == ["-", "-"]


@pytest.mark.parametrize("table", ["1", "2", "3a", "3b", "3c"])
def test_conclusions_from_the_paper_s_own_cells_are_its_own(table):
    found = paper_tests.conclude(papers_own_cells(), table)
    assert found.ours == found.shared
    assert (found.same, found.n_pairs) == (36, 36)
    assert found.datasets == list(published.DATASETS)
    # In all five, PAT or ExTIcE is before KM2; no pair is separated both ways.
    assert {("PAT_M", "KM2"), ("ExTIcE", "KM2")} & found.whole
    assert not {pair[::-1] for pair in found.whole} & found.whole
    other = paper_tests.conclude(papers_own_cells(shuffled=True), table)
    assert other.shared == found.shared
    assert other.same < 36
    lacking = papers_own_cells().query("method != 'pe-published'")
    assert paper_tests.conclude(lacking, table) is None


def test_a_stand_in_is_beside_the_data_set_it_stands_in_for(path):
    names = {"pat": "PAT_M", "tice": "TIcE", "extice": "ExTIcE"}
    cells = {method: published.tables()["1", "B", column].mae for method, column in names.items()}
    made = {("1", "vowels-network", method): same(mae) for method, mae in cells.items()}
    write(path, made, repetitions=1, folds=1)
    evaluations = frames.read(path).evaluations
    errors = frames.errors(evaluations)
    compared = paper_comparison.compare_errors(errors)
    assert dict(zip(compared["method"], compared["published"], strict=True)) == cells
    assert paper_comparison.agreement(errors, "1").spearman == pytest.approx(1)
    chapter = paper_comparison.paper_chapter(errors, frames.seconds(evaluations))
    assert chapter.text[-1] == "vowels-network stands in for B and is compared with its cells."
    # Of the nine columns that the paper has for B in #1, three were measured.
    assert chapter.items[0].rows[0][1:4] == [9, 3, 3]


def test_agreement_is_one_point_or_fifteen_percent(path):
    frame = frames.errors(frames.read(paper_file(path, shift=1.2)).evaluations)
    compared = paper_comparison.compare_errors(frame)
    # 1.2 points are 15 % of 8.
    assert (compared["within"] == (compared["published"] >= 8)).all()
    assert compared["difference"].to_numpy() == pytest.approx(1.2)
    assert set(compared["within"]) == {True, False}


def test_how_much_of_a_difference_is_chance(path):
    # PAT on W: 2.23 (1.87) in 25 folds of eleven samples. Ours: two folds.
    chance = 1.87 * math.sqrt(1 / 22 + 1 / 275)
    for error, explained in [(2.23 + 1.9 * chance, True), (2.23 + 2.1 * chance, False)]:
        made = {("1", "W", "pat"): same(error)}
        write(path, made, repetitions=2, folds=1)
        (row,) = paper_comparison.compare_errors(
            frames.errors(frames.read(path).evaluations)
        ).to_dict("records")
        assert row["noise"] == pytest.approx(chance)
        assert row["explanation"].startswith("Chance") == explained
        path.unlink()


def test_the_worst_of_many_is_too_high_by_chance(path):
    # PAT on L: 3.65 (2.47) in the worst of 25 sub-classes. Ours: one fold.
    chance = 2.47 * math.sqrt(1 / 11 + 1 / 275)
    for error in (3.65 + 3 * chance, 3.65 - 3 * chance):
        made = {("3", "L", "pat", f"n{i}"): same(error) for i in range(25)}
        write(path, made, repetitions=1, folds=1)
        frame = paper_comparison.compare_errors(frames.errors(frames.read(path).evaluations))
        said = frame.set_index("table").at["3c", "explanation"]
        assert said.startswith("Chance: the worst") == (error > 3.65)
        path.unlink()


def test_samples_of_2000_rows_are_beside_those_of_500(path):
    made = {
        ("2", "L", "pat"): same(9),
        ("2large", "L", "pat"): same(6),
        ("2", "L", "tice"): same(9),
    }
    evaluations = frames.read(write(path, made)).evaluations
    errors = frames.errors(evaluations)
    chapter = paper_comparison.paper_chapter(errors, frames.seconds(evaluations))
    (table,) = [item for item in chapter.items if item.name == "paper-large"]
    ((dataset, label, small, large, theirs),) = table.rows
    assert (dataset, label, theirs) == ("L", "PAT", 5.32)
    assert (small.value, large.value) == pytest.approx((9, 6))
    assert (small.bold, large.bold) == (False, True)
    assert table.notes[0].endswith("500 rows 0 cells agree with the paper's, of 2,000 rows 1.")
    compared = paper_comparison.compare_errors(errors).set_index("method")
    assert compared.at["pat", "explanation"].endswith("rows instead of 500 give 6.00")
    assert "2,000" not in compared.at["tice", "explanation"]


def test_the_reverse_order_has_the_reverse_correlation(path):
    made = {
        ("1", dataset, method): same(100 - published.tables()["1", dataset, column].mae)
        for dataset in ("W", "R")
        for method, column in {"pat": "PAT_M", "tice": "TIcE", "extice": "ExTIcE"}.items()
    }
    errors = frames.errors(frames.read(write(path, made)).evaluations)
    assert paper_comparison.agreement(errors, "1").spearman == pytest.approx(-1)
