"""
Which methods differ?
=====================

Average ranks of the methods in the paper's Experiment #1, over the six data sets that everybody
can get, from its published table. Methods under one bar cannot be told apart by Nemenyi's test.
Runs of your own are drawn the same way by ``python -m research report``.
"""

import pandas as pd

from research.published import DATASETS, MAIN_COLUMNS, tables
from research.report.significance import LEVEL, rank
from research.report.displays import CriticalDifferenceDisplay

cells = tables()
errors = pd.DataFrame(
    {method: [cells["1", name, method].mae for name in DATASETS] for method in MAIN_COLUMNS},
    index=DATASETS,
)
ranking = rank(errors, errors.isna())

CriticalDifferenceDisplay.from_ranks(
    ranking.average.to_dict(),
    ranking.nemenyi(),
    level=LEVEL,
    critical_difference=ranking.critical_difference,
    title="Published errors, Experiment #1, six data sets",
)
