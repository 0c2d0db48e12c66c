"""The chapter that shows our numbers beside those of the paper."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from research import published
from research.experiments.methods import column_of, label_of
from research.experiments.protocols import N_FOLDS, N_POINTS, PROTOCOLS
from research.report.document import Chapter, ReportTable, TableCell
from research.report.frames import table_label
from research.report.paper_tests import LABELS, by_letter, conclusions, test_tables
from research.report.significance import LEVEL, rank

# A cell agrees with the paper if it is as near as one of these, whichever is wider.
POINTS, SHARE = 1.0, 0.15

_COMPARED = ["table", "dataset", "method", "mae", "sd", "published", "published_sd", "difference"]
_COMPARED += ["noise", "within", "explanation"]


def paper_chapter(errors: pd.DataFrame, times: pd.DataFrame) -> Chapter:
    """Show errors, ranks and seconds beside the published ones.

    Parameters
    ----------
    errors, times : DataFrame
        From `research.report.frames.errors` and `seconds`.
    """
    compared = compare_errors(errors)
    chapter = Chapter(
        "Beside the paper",
        [
            *_summary(compared, errors),
            f"Below are data sets {', '.join(published.DATASETS)}, without the cells of C, R and W "
            "that repeat those of #1 (all that #1 has, but BFT's). In #2 our error is taken as the "
            "authors took theirs: they divided the positives drawn by the rows wanted, not by the "
            "rows drawn, which are fewer because each sub-class has a whole number of them.",
        ],
    )
    for stand_in in sorted(set(compared["dataset"]) & set(published.STAND_INS)):
        letter = published.STAND_INS[stand_in]
        chapter.text.append(f"{stand_in} stands in for {letter} and is compared with its cells.")
    if compared.empty:
        chapter.text.append("No cell of these results is in the paper's tables.")
    else:
        chapter.items += [
            _agreement_table(compared),
            _difference_table(compared),
            *_rank_tables(sorted(compared["table"].unique()), errors),
            *test_tables(errors),
            *_large_samples(errors),
        ]
    seconds = compare_seconds(times)
    if not seconds.empty:
        chapter.items.append(_seconds_table(seconds))
    return chapter


def _summary(compared: pd.DataFrame, errors: pd.DataFrame) -> list[str]:
    """Sentences on average ranks and on significance."""
    tables = sorted(compared["table"].unique())
    ranks = [(t, agreement(errors, t, published.MAIN_COLUMNS).spearman) for t in tables]
    found = [f"{rho:.2f} in {table_label(t)}" for t, rho in ranks if not math.isnan(rho)]
    concluded = conclusions(errors)
    sentences = []
    if found:
        sentences.append(
            "Average ranks of the paper's nine methods, ours and the paper's on the same data "
            f"sets, have a correlation (Spearman's) of {', '.join(found)}."
        )
    if concluded:
        parts = [f"{table_label(one.table)} {one.same} of {one.n_pairs}" for one in concluded]
        sentences.append(
            f"Nemenyi's test at {LEVEL:g} concludes the same from our cells as from the paper's "
            f"about {sum(one.same for one in concluded)} of "
            f"{sum(one.n_pairs for one in concluded)} pairs of methods: {', '.join(parts)}."
        )
    return sentences


def compare_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Every error that the paper also has, with the difference; ours measured as the authors did.

    Parameters
    ----------
    errors : DataFrame
        From `research.report.frames.errors`.

    Returns
    -------
    DataFrame
        With columns `table`, `dataset`, `method`, `mae`, `sd`, `published`, `published_sd`,
        `difference`, `noise` (the standard error of the difference, from the paper's standard
        deviation and both numbers of samples), `within` and `explanation`.
    """
    rows = []
    known = errors[errors["published_mae"].notna()]
    large = known[known["table"] == "2large"].set_index(["dataset", "method"])["published_mae"]
    for own in known.itertuples(index=False):
        theirs = published.comparable(own.table, own.dataset, column_of(own.method))
        if theirs is None:
            continue
        difference = own.published_mae - theirs.mae
        # Every evaluation is a draw of its own, and the deviation is that of a single one.
        n_theirs = N_FOLDS * PROTOCOLS[own.table[0]].repetitions
        sd = math.nan if theirs.sd is None else theirs.sd
        ours, published_noise = (sd / math.sqrt(N_POINTS * n) for n in (own.folds, n_theirs))
        noise = math.hypot(ours, published_noise)
        chosen_of = published.N_NEGATIVES.get(own.dataset, 1) if own.table == "3c" else 1
        luck = ours * math.sqrt(2 * math.log(chosen_of))
        rows.append(
            {
                "table": own.table,
                "dataset": own.dataset,
                "method": own.method,
                "mae": own.published_mae,
                "sd": own.sd,
                "published": theirs.mae,
                "published_sd": sd,
                "difference": difference,
                "noise": noise,
                "within": agrees(own.published_mae, theirs.mae),
                "explanation": published.explanation(own.table, own.dataset, own.method)
                or _large(own, large, theirs.mae)
                or _chance(difference, noise, luck),
            }
        )
    return pd.DataFrame(rows, columns=_COMPARED)


def _large(own: Any, large: pd.Series, theirs: float) -> str:
    """Say if #2's cell is that of larger samples than the paper says."""
    found = large.get((own.dataset, own.method))
    if own.table != "2" or found is None or not agrees(found, theirs):
        return ""
    return f"Samples of up to 2,000 rows instead of 500 give {found:.2f}"


def _chance(difference: float, noise: float, luck: float) -> str:
    """Say that a difference is chance, if it is; the worst of many has its luck on top."""
    if abs(difference) < 2 * noise:
        return "Chance: less than two standard errors"
    if luck and 0 < difference < 2 * noise + luck:
        return "Chance: the worst of many sub-classes, each after few folds, is too high"
    return ""


def agrees(ours: float, theirs: float) -> bool:
    """Whether an error is within a point, or within 15 %, of the paper's.

    Examples
    --------
    >>> agrees(3.0, 2.1), agrees(11.4, 10.0), agrees(3.2, 2.1)
    (True, True, False)
    """
    return abs(ours - theirs) <= max(POINTS, SHARE * theirs)


class Agreement(NamedTuple):
    """Average ranks of the same methods on the same data sets, ours and the paper's.

    Attributes
    ----------
    ranks : DataFrame
        A row for each of the paper's columns, best of ours first, with `ours` and `published`.
    datasets : list of str
        The data sets that the averages are over, by the paper's letters.
    spearman : float
        Correlation of the two; NaN for fewer than three methods.
    """

    ranks: pd.DataFrame
    datasets: list[str]
    spearman: float


def agreement(errors: pd.DataFrame, table: str, columns: tuple[str, ...] = ()) -> Agreement:
    """Compare average ranks with the paper's, computed from its cells.

    Parameters
    ----------
    errors : DataFrame
        From `research.report.frames.errors`.
    table : str
        Experiment, or 3a, 3b, 3c.
    columns : tuple of str
        Columns of the paper to include; all of the table by default.
    """
    wanted = columns or tuple(dict.fromkeys(c for t, _, c in published.tables() if t == table))
    ours = pd.DataFrame.from_dict(by_letter(errors, table), orient="index")
    ours = ours[[column for column in wanted if column in ours]]
    ranking = rank(ours, ours.isna() & False)
    names = [str(name) for name in ranking.ranks.columns]
    letters = [str(letter) for letter in ranking.ranks.index]
    theirs = published.average_ranks(table, letters, names)
    frame = pd.DataFrame(
        {
            "ours": ranking.ranks.mean().to_numpy(dtype=float),
            "published": np.array(list(theirs.values()), dtype=float),
        },
        index=pd.Index(names, name="column"),
    ).sort_values("ours", kind="stable")
    varied = len(frame) > 2 and frame.nunique().min() > 1
    rho = float(spearmanr(frame["ours"], frame["published"]).statistic) if varied else math.nan
    return Agreement(frame, letters, rho)


def compare_seconds(times: pd.DataFrame) -> pd.DataFrame:
    """Our seconds of Experiment #4 beside the paper's, which come from another machine.

    A method that can be used again is there with one training for all samples, too.

    Parameters
    ----------
    times : DataFrame
        From `research.report.frames.seconds`.

    Returns
    -------
    DataFrame
        With columns `dataset`, `method`, `part`, `seconds`, `published`.
    """
    rows = []
    for row in times.itertuples(index=False):
        name = column_of(row.method)
        if name in ("KM1", "KM2"):
            name = "KM"  # one run gives both
        # The authors' "with training" trains anew for every sample.
        for_each = ("fit for each sample and quantify", N_POINTS * row.fit + row.quantify)
        parts = [(f"{name}_quantify_only", "quantify", row.quantify), (name, *for_each)]
        letter = published.name_in_paper(row.dataset) or ""
        if (letter, f"{name}_quantify_only") in published.seconds():
            parts.append((name, "fit once and quantify", row.fit + row.quantify))
        for key, part, ours in parts:
            theirs = published.seconds().get((letter, str(key)))
            if theirs is not None:
                rows.append((row.dataset, row.method, part, ours, theirs))
    return pd.DataFrame(rows, columns=["dataset", "method", "part", "seconds", "published"])


def _agreement_table(compared: pd.DataFrame) -> ReportTable:
    rows: list[list[Any]] = []
    letters = {published.name_in_paper(dataset) for dataset in compared["dataset"]}
    for table in [*sorted(compared["table"].unique()), None]:
        part = compared if table is None else compared[compared["table"] == table]
        names = set(part["table"])
        wanted = sum(
            experiment in names and letter in letters
            for experiment, letter, column in published.tables()
            if not published.repeats_experiment_1(experiment, letter, column)
        )
        within = int(part["within"].sum())
        name = "all" if table is None else table_label(table)
        explained = int((~part["within"] & (part["explanation"] != "")).sum())
        share = TableCell(100 * within / len(part), decimals=1)
        rows.append([name, wanted, len(part), within, share, len(part) - within, explained])
    head = ["experiment", "published cells", "measured", "agree", "agree (%)", "differ"]
    return ReportTable("paper-agreement", "Cells that agree", [*head, "of these explained"], rows)


def _difference_table(compared: pd.DataFrame) -> ReportTable:
    rows = [
        [
            table_label(row.table),
            row.dataset,
            label_of(row.method),
            TableCell(row.mae, row.sd),
            TableCell(row.published, row.published_sd),
            TableCell(row.difference),
            TableCell(abs(row.difference) / row.noise if row.noise else None, decimals=1),
            row.explanation or "not explained",
        ]
        for row in compared[~compared["within"]].itertuples()
    ]
    head = ["experiment", "data set", "method", "ours", "published", "difference"]
    head += ["in standard errors", "explanation"]
    note = (
        "The standard error is that of chance alone, from the paper's standard deviation of one "
        "sample, the number of our samples and that of the paper's."
    )
    notes = [note] if rows else ["Every cell agrees."]
    title = "Cells that differ, in points"
    return ReportTable("paper-differences", title, head, rows, notes=notes)


def _rank_tables(tables: list[str], errors: pd.DataFrame) -> list[ReportTable]:
    found = {table: agreement(errors, table) for table in tables}
    rows: list[list[Any]] = []
    for column in dict.fromkeys(c for a in found.values() for c in a.ranks.index):
        row: list[Any] = [LABELS[column]]
        for agreed in found.values():
            ranks = agreed.ranks
            row += list(ranks.loc[column].astype(float)) if column in ranks.index else [None, None]
        rows.append(row)
    head = ["method", *(f"{table_label(t)} {whose}" for t in tables for whose in ("ours", "paper"))]
    title = "Average ranks beside the paper's"
    note = "Ranks of the methods that the paper has in the same table; both computed from cells."
    ranks_table = ReportTable("paper-ranks", title, head, rows, notes=[note])
    rows = []
    for table, agreed in found.items():
        main = agreement(errors, table, published.MAIN_COLUMNS)
        places = [_places(main, column) for column in ("PAT_M", "ExTIcE")]
        rho = [TableCell(a.spearman, decimals=3) for a in (agreed, main)]
        sizes = [len(agreed.ranks), len(main.ranks)]
        name = table_label(table)
        rows.append([name, " ".join(main.datasets), sizes[0], rho[0], sizes[1], rho[1], *places])
    head = ["experiment", "data sets", "methods", "Spearman", "in the main table", "Spearman there"]
    head += ["place of PAT (paper)", "place of ExTIcE (paper)"]
    note = (
        "Spearman's correlation of our average ranks with the paper's on the same data sets and "
        "methods. Main table: the paper's nine columns, without the ensemble and RanFocE, to "
        "which it gives tables of their own; the places are among these."
    )
    title = "Agreement of the average ranks"
    return [ReportTable("paper-spearman", title, head, rows, notes=[note]), ranks_table]


def _places(agreed: Agreement, method: str) -> str:
    if method not in agreed.ranks.index:
        return ""
    places = agreed.ranks.rank(method="min").astype(int).loc[method]
    return f"{places['ours']} ({places['published']})"


def _large_samples(errors: pd.DataFrame) -> list[ReportTable]:
    """#2 with samples of 500 rows and of 2,000, beside the paper's cells."""
    rows: list[list[Any]] = []
    own = errors[errors["published_mae"].notna()].set_index(["table", "dataset", "method"])
    found = own["published_mae"]
    for table, dataset, method in found.index:
        theirs = published.comparable("2", dataset, column_of(method))
        if table != "2large" or theirs is None or ("2", dataset, method) not in found.index:
            continue
        small, large = found["2", dataset, method], found["2large", dataset, method]
        nearer = abs(large - theirs.mae) < abs(small - theirs.mae)
        numbers = [TableCell(small, bold=not nearer), TableCell(large, bold=bool(nearer))]
        rows.append([dataset, label_of(method), *numbers, theirs.mae])
    if not rows:
        return []
    n_large = sum(row[3].bold for row in rows)
    n_agree = [sum(agrees(row[i].value, row[4]) for row in rows) for i in (2, 3)]
    note = (
        f"In bold the nearer one: with 2,000 rows in {n_large} of {len(rows)} cells. Of samples of "
        f"500 rows {n_agree[0]} cells agree with the paper's, of 2,000 rows {n_agree[1]}."
    )
    title = "#2: are the paper's samples of 500 rows, as it says, or of up to 2,000?"
    head = ["data set", "method", "500 rows", "2,000 rows", "published"]
    return [ReportTable("paper-large", title, head, rows, notes=[note])]


def _seconds_table(seconds: pd.DataFrame) -> ReportTable:
    rows = [
        [
            row.dataset,
            label_of(row.method),
            row.part,
            TableCell(row.seconds, decimals=3),
            row.published,
            TableCell(row.published / row.seconds if row.seconds > 0 else None, decimals=1),
        ]
        for row in seconds.itertuples()
    ]
    head = ["data set", "method", "part", "CPU seconds", "published seconds", "ratio"]
    note = "The paper's seconds come from another machine, other programs and wall clocks."
    title = "#4 beside the paper: seconds for eleven samples"
    return ReportTable("paper-seconds", title, head, rows, notes=[note], long=True)
