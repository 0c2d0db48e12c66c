"""The paper's tests: the p-values that it states, and which methods Nemenyi's test separates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from research import published
from research.experiments.methods import column_of, label_of, select
from research.report import significance
from research.report.document import ReportTable, TableCell
from research.report.frames import table_label
from research.report.significance import LEVEL, two_tests

_LABELS = {method.column: label_of(method.name) for method in select(["paper"])}


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
    own = errors[errors["table"] == table]
    own = own.assign(column=own["method"].map(column_of))
    own = own[own["column"].isin(columns) & own["dataset"].map(published.name_in_paper).notna()]
    ours = own.pivot(index="dataset", columns="column", values="published_mae").dropna()
    if set(ours.columns) != set(columns) or len(ours) < 2:
        return None
    cells = published.tables()
    letters = dict.fromkeys(letter for t, letter, _ in cells if t == table and letter != "rank")
    theirs = pd.DataFrame(
        [[getattr(cells.get((table, d, c)), "mae", np.nan) for c in columns] for d in letters],
        index=list(letters),
        columns=columns,
    )
    shared = theirs.loc[[published.name_in_paper(str(d)) or "" for d in ours.index]]
    found = [
        significance.rank(frame, frame.isna()).different()
        for frame in (theirs, shared, ours[columns])
    ]
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
        part = errors[(errors["table"] == table) & errors["published_mae"].notna()]
        own = {
            (row.dataset, column_of(row.method)): row.published_mae
            for row in part.itertuples()
            if published.name_in_paper(row.dataset)
        }
        datasets = [d for d in dict.fromkeys(d for d, _ in own) if all((d, c) in own for c in pair)]
        if not datasets:
            continue
        theirs = published.errors(table, pair)
        shared = [theirs[published.name_in_paper(dataset) or ""] for dataset in datasets]
        ours = [[own[dataset, column] for column in pair] for dataset in datasets]
        tests = [p for cells in ([*theirs.values()], shared, ours) for p in two_tests(cells)]
        rows.append((table, *pair, stated, *tests))
    whose = [f"{name}_{test}" for name in ("paper", "shared", "ours") for test in ("sum", "signed")]
    return pd.DataFrame(rows, columns=["table", "first", "second", "stated", *whose])


def test_tables(errors: pd.DataFrame) -> list[ReportTable]:
    """Tables of the stated p-values and of Nemenyi's conclusions."""
    concluded = [conclude(errors, table) for table in ("1", "2", "3a", "3b", "3c")]
    return [_stated(errors), *_concluded([one for one in concluded if one is not None])]


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
            len(one.shared),
            len(one.ours),
            one.same,
            _names(one.shared - one.ours),
            _names(one.ours - one.shared),
        ]
        for one in concluded
    ]
    head = ["experiment", "pairs", "separated by the paper's cells", "on our data sets"]
    head += ["by our cells", "same conclusion", "by the paper's alone", "by ours alone"]
    note = (
        f"Nemenyi's test at {LEVEL:g} of the paper's nine methods: on its ten data sets, and on "
        f"those that we have too ({', '.join(concluded[0].datasets)}), where the two are compared."
    )
    title = "Which methods Nemenyi's test separates"
    summary = ReportTable("paper-conclusions", title, head, rows, notes=[note])
    listed = [
        [
            table_label(one.table),
            f"{_LABELS[pair[0]]} before {_LABELS[pair[1]]}",
            *("yes" if pair in found else "no" for found in (one.whole, one.shared, one.ours)),
        ]
        for one in concluded
        for pair in sorted(one.whole | one.shared | one.ours)
    ]
    head = ["experiment", "pair", "the paper's ten data sets", "the paper's cells on ours", "ours"]
    title = "Every pair that is separated by one of them"
    return [summary, ReportTable("paper-pairs", title, head, listed)]


def _names(pairs: set[tuple[str, str]]) -> str:
    return "; ".join(f"{_LABELS[one]} before {_LABELS[two]}" for one, two in sorted(pairs)) or "-"
