"""
ODIn: partial matching of two histograms
========================================

The scores of the labelled positives are cut into bins that hold a tenth of them each. Scaled by p,
they must fit under the histogram of the sample, because negatives can only add rows. The largest p
that fits, up to an overflow that chance explains, is ODIn's answer. Left: p is too small, and some
positives are taken for negatives. Right: p is too large, and sticks out (orange).
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import ODIn
from poscount.example import load_example

positives, trap, truth = load_example()
night = trap[trap["night"] == "2026-01-17"]  # the truth is 34.9 %
model = ODIn(random_state=0).fit(positives)
answer = float(model.quantify(night))
shares = model.shares_
sample = model.count(night).cells[: len(shares)] / len(night)
bins = np.arange(len(shares))

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, (name, p) in zip(
    axes, {"too small": 0.2, "ODIn's answer": answer, "too large": 0.55}.items(), strict=True
):
    fits = np.minimum(p * shares, sample)
    ax.bar(bins, sample, width=0.9, color="#cccccc", label="sample")
    ax.bar(bins, fits, width=0.9, color="#0072B2", label="positives, scaled")
    ax.bar(bins, p * shares - fits, bottom=fits, width=0.9, color="#D55E00", label="overflow")
    ax.set_title(f"{name}: {p:.0%}", fontsize=11)
    ax.set_xlabel("bin of the score, typical positives right")
    ax.set_ylim(0, 0.12)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("share of the sample")
axes[0].legend(frameon=False, fontsize=9)
