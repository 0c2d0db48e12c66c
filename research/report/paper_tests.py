"""The paper's tests: the p-values that it states, and which methods Nemenyi's test separates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from research import published
from research.experiments.methods import column_of, label_of, select
from research.report import significance
from research.report.claims import lower_error
from research.report.document import ReportTable, TableCell
from research.report.frames import table_label
from research.report.significance import LEVEL, two_tests

# Of whom the paper says that they are better, and where.
_STATED_ORDER = (
    ("1", "PAT_M", "ExTIcE"),
    ("1", "PAT_M", "BFT_M"),
    ("1", "ExTIcE", "TIcE"),
    ("1", "ExTIcE", "EN_auto"),
    ("3a", "min(ExTIcE,PAT_M)", "PAT_M"),
    ("3c", "min(ExTIcE,PAT_M)", "PAT_M"),
    ("3c", "ExTIcE", "PAT_M"),
    ("3c", "ExTIcE", "TIcE"),
)
LABELS = {method.column: label_of(method.name) for method in select(["paper"])}


class Conclusions(NamedTuple):
    """Pairs of methods that Nemenyi's test separates, the better one first, by whose cells.

    Attributes
    ----------
    table : str
        Experiment, or 3a, 3b, 3c.
    n_pairs : int
        Number of pairs of methods.
    datasets : list of str
        The data sets that both have.
    whole : set of pairs
        By the paper's cells on all its data sets.
    shared : set of pairs
        By the paper's cells on `datasets`.
    ours : set of pairs
        By our cells on `datasets`.
    """

    table: str
    n_pairs: int
    datasets: list[str]
    whole: set[tuple[str, str]]
    shared: set[tuple[str, str]]
    ours: set[tuple[str, str]]

    @property
    def same(self) -> int:
        """On how many pairs our cells and the paper's on the same data sets conclude the same."""
        return self.n_pairs - len(self.shared ^ self.ours)


def conclude(errors: pd.DataFrame, table: str) -> Conclusions | None:
    """Compare what Nemenyi's test says of the paper's nine methods; None if our cells lack some.

    Parameters
    ----------
    errors : DataFrame
        From `research.report.frames.errors`.
    table : str
    """
    columns = list(published.MAIN_COLUMNS)
    ours = pd.DataFrame.from_dict(by_letter(errors, table), orient="index")
    ours = ours.reindex(columns=columns).dropna()
    if len(ours) < 2:
        return None
    cells = published.tables()
    letters = dict.fromkeys(letter for t, letter, _ in cells if t == table and letter != "rank")
    theirs = pd.DataFrame(
        [[getattr(cells.get((table, d, c)), "mae", np.nan) for c in columns] for d in letters],
        index=list(letters),
        columns=columns,
    )
    each = (theirs, theirs.loc[ours.index], ours)
    found = [significance.rank(frame, frame.isna()).different() for frame in each]
    n_pairs = len(columns) * (len(columns) - 1) // 2
    return Conclusions(table, n_pairs, list(ours.index), *found)


def compare_tests(errors: pd.DataFrame) -> pd.DataFrame:
    """P-values that the paper states, beside those of its own cells and of ours.

    Parameters
    ----------
    errors : DataFrame
        From `research.report.frames.errors`.

    Returns
    -------
    DataFrame
        A row for each test whose two methods are in `errors`, with the columns `table`, `first`,
        `second` (the paper's names), `stated`, and the p-values of the rank-sum and of the
        signed-rank test: `paper_sum`, `paper_signed` over all data sets of the paper, `shared_sum`,
        `shared_signed` over those that we have, from the paper's cells, and `ours_sum`,
        `ours_signed` from ours.
    """
    rows = []
    for table, *pair, stated in published.STATED_TESTS:
        own = by_letter(errors, table)
        letters = [letter for letter in own if all(column in own[letter] for column in pair)]
        if not letters:
            continue
        theirs = published.errors(table, pair)
        shared = [theirs[letter] for letter in letters]
        ours = [[own[letter][column] for column in pair] for letter in letters]
        tests = [p for cells in ([*theirs.values()], shared, ours) for p in two_tests(cells)]
        rows.append((table, *pair, stated, *tests))
    whose = [f"{name}_{test}" for name in ("paper", "shared", "ours") for test in ("sum", "signed")]
    return pd.DataFrame(rows, columns=["table", "first", "second", "stated", *whose])


def test_tables(errors: pd.DataFrame) -> list[ReportTable]:
    """Tables of who is better where, of the stated p-values and of Nemenyi's conclusions."""
    return [_who_is_better(errors), _stated(errors), *_concluded(conclusions(errors))]


def conclusions(errors: pd.DataFrame) -> list[Conclusions]:
    """What Nemenyi's test says in each table that has all nine methods."""
    concluded = [conclude(errors, table) for table in ("1", "2", "3a", "3b", "3c")]
    return [one for one in concluded if one is not None]


def _who_is_better(errors: pd.DataFrame) -> ReportTable:
    rows = []
    for table, *pair in _STATED_ORDER:
        own = by_letter(errors, table)
        letters = [d for d in own if all(column in own[d] for column in pair)]
        ours = "".join(d for d in letters if own[d][pair[0]] < own[d][pair[1]])
        better = [d for d in lower_error(table, *pair) if d in letters]
        theirs = "".join(sorted(better, key=letters.index))
        rows.append([table_label(table), *(LABELS[c] for c in pair), theirs or "-", ours or "-"])
    head = ["experiment", "the error of", "is below that of", "in the paper on", "here on"]
    note = "Of the data sets that are here, by the paper's letters; B is its stand-in."
    return ReportTable("paper-order", "Who is better where", head, rows, notes=[note])


def by_letter(errors: pd.DataFrame, table: str) -> dict[str, dict[str, float]]:
    """Our errors by the paper's data sets and columns."""
    found: dict[str, dict[str, float]] = {}
    for row in errors[(errors["table"] == table) & errors["published_mae"].notna()].itertuples():
        letter, column = published.name_in_paper(row.dataset), column_of(row.method)
        if letter is not None and column is not None:
            found.setdefault(letter, {})[column] = row.published_mae
    return found


def _stated(errors: pd.DataFrame) -> ReportTable:
    rows = [
        [
            table_label(row[0]),
            f"{row[1]} and {row[2]}",
            *(TableCell(p, decimals=3) for p in row[3:]),
        ]
        for row in compare_tests(errors).itertuples(index=False)
    ]
    head = ["experiment", "methods", "stated"]
    head += [
        f"{cells}, {test}"
        for cells in ("paper's cells", "paper's cells on our data sets", "our cells")
        for test in ("rank-sum", "signed-rank")
    ]
    note = (
        "P-values over data sets, uncorrected. The paper states those of the rank-sum test; the "
        "errors are paired by data set, which only the signed-rank test uses."
    )
    return ReportTable("paper-tests", "The tests that the paper states", head, rows, notes=[note])


def _concluded(concluded: list[Conclusions]) -> list[ReportTable]:
    if not concluded:
        return []
    rows = [
        [
            table_label(one.table),
            one.n_pairs,
            len(one.whole),
            "".join(one.datasets),
            len(one.shared),
            len(one.ours),
            one.same,
            _names(one.shared - one.ours),
            _names(one.ours - one.shared),
        ]
        for one in concluded
    ]
    head = ["experiment", "pairs", "separated by the paper's cells", "data sets here"]
    head += [
        "by the paper's cells on these",
        "by our cells",
        "same conclusion",
        "by the paper's alone",
        "by ours alone",
    ]
    note = (
        f"Nemenyi's test at {LEVEL:g} of the paper's nine methods: on its ten data sets, and on "
        "those that have all nine here, too, where the two are compared."
    )
    title = "Which methods Nemenyi's test separates"
    summary = ReportTable("paper-conclusions", title, head, rows, notes=[note])
    listed = [
        [
            table_label(one.table),
            f"{LABELS[pair[0]]} before {LABELS[pair[1]]}",
            *("yes" if pair in found else "no" for found in (one.whole, one.shared, one.ours)),
        ]
        for one in concluded
        for pair in sorted(one.whole | one.shared | one.ours)
    ]
    head = ["experiment", "pair", "the paper's ten data sets", "the paper's cells on ours", "ours"]
    title = "Every pair that is separated by one of them"
    return [summary, ReportTable("paper-pairs", title, head, listed)]


def _names(pairs: set[tuple[str, str]]) -> str:
    return "; ".join(f"{LABELS[one]} before {LABELS[two]}" for one, two in sorted(pairs)) or "-"
