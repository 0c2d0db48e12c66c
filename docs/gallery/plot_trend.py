"""
A year of weeks, and where it changed
=====================================

Two hundred recordings a week, of which 30 % are positive, and 45 % from week 31 on; every sixth
week has only thirty, and two have none. Dots are the shares of the weeks. The line is
smoothed: small weeks borrow strength from the others. All weeks are compared in the same regions,
so that the error that they share does not count, and at most 5 of 100 series without change have
any mark.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from poscount import RCQ, trend
from poscount.example import load_example
from poscount.plotting import TrendDisplay

positives, trap, _ = load_example()
# The first night has no positives: these are other insects.
others = trap[trap["night"] == "2026-01-12"].drop(columns="night")
learn = positives.sample(200, random_state=0)
rest = positives.drop(learn.index)

rng = np.random.default_rng(0)
weeks = []
for week in set(range(1, 53)) - {20, 21}:
    monday = pd.Timestamp.fromisocalendar(2026, week, 1)
    n = 30 if week % 6 == 0 else 200
    n_positive = rng.binomial(n, 0.3 if week < 31 else 0.45)
    for rows, size in ((rest, n_positive), (others, n - n_positive)):
        weeks.append(rows.sample(size, replace=True, random_state=rng).assign(date=monday))

model = RCQ(random_state=0).fit(learn)
found = trend(model, pd.concat(weeks), "week(date)", baseline=8, smooth=True)
print(found)

TrendDisplay.from_trend(found, ax=plt.subplots(figsize=(9, 4.8), layout="constrained")[1])
