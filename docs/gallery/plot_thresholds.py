"""
A threshold for counting, and PAT's conservative one
====================================================

Scores of positives (blue) and negatives (grey), scaled by their shares. Counting what is above a
threshold misses some positives and takes some negatives. Left: both mistakes are equally large,
and the count is right although 16 % of the rows are misclassified. Middle: the same threshold
when more rows are positive. The mistakes no longer cancel, and the count is too low. Right: PAT's
threshold is so high that hardly any negatives pass. Here a quarter of the positives does (q =
0.75), so four times the count is right, whatever the share of positives is.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

positives, negatives = norm(1, 1), norm(-1, 1)
middle, high = 0.0, positives.ppf(0.75)
panels = {
    "errors cancel": (0.5, middle),
    "more positives": (0.8, middle),
    "PAT: a high threshold": (0.8, high),
}
grid = np.linspace(-4.5, 4.5, 500)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True, layout="constrained")
for ax, (title, (p, threshold)) in zip(axes, panels.items(), strict=True):
    below, above = grid <= threshold, grid >= threshold
    yes, no = p * positives.pdf(grid), (1 - p) * negatives.pdf(grid)
    ax.plot(grid, yes, color="#0072B2", label="positives")
    ax.plot(grid, no, color="#888888", label="negatives")
    ax.fill_between(
        grid[below],
        yes[below],
        facecolor="#cce3f0",
        edgecolor="#0072B2",
        hatch="//",
        label="positives missed",
    )
    ax.fill_between(
        grid[above],
        no[above],
        facecolor="#f5d6c1",
        edgecolor="#D55E00",
        hatch="\\\\",
        label="negatives counted",
    )
    ax.axvline(threshold, color="black", linewidth=1)
    counted = p * positives.sf(threshold) + (1 - p) * negatives.sf(threshold)
    answer = f"counted {counted:.0%}"
    if threshold == high:
        answer = f"4 x {counted:.0%} counted"
    ax.set_title(f"{title}\n{p:.0%} are positive, {answer}", fontsize=10)
    ax.set_xlabel("score")
    ax.set_ylim(0, 0.4)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("density")
axes[2].legend(frameon=False, fontsize=9, loc="upper left")
