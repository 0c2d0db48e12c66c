"""
ODIn: bins that hold equal shares of the positives
==================================================

Left: the scores of the labelled positives, and the edges between ODIn's bins at the percentiles
0, 10, ..., 100 (of out-of-fold scores, which are a little lower). Bins are narrow where scores
are dense and wide in the tail. Right: shares of the bins. Each inner bin holds a tenth of the
positives, so that their histogram is flat whatever the score is. That of one night is level where
its rows are positive, and rises on the left, where the negatives are.
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import ODIn
from poscount.example import load_example

positives, trap, truth = load_example()
night = trap[trap["night"] == "2026-01-17"]
model = ODIn(random_state=0).fit(positives)
scores = model.scorer_.score_samples(positives[list(model.feature_names_in_)].to_numpy())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.hist(scores, bins=40, color="#cce3f0")
for edge in model.edges_:
    left.axvline(edge, color="#0072B2", linewidth=1)
left.set_xlabel("score")
left.set_ylabel("labelled positives")
left.set_title("Edges at equal steps of the percentile", fontsize=11)

bins = np.arange(len(model.shares_))
sample = model.count(night).cells[: len(bins)] / len(night)
right.bar(bins - 0.2, model.shares_, width=0.4, color="#0072B2", label="labelled positives")
right.bar(bins + 0.2, sample, width=0.4, color="#cccccc", label="one night")
right.set_xlabel("bin of the score, typical positives right")
right.set_ylabel("share")
right.set_title("Shares by bin", fontsize=11)
right.legend(frameon=False, fontsize=9)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
