"""Draws docs/images/rcq.png: why one region that negatives avoid is enough.

Run it with ``python docs/images/made.py rcq.png``; it needs matplotlib.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from poscount import RCQ

mpl.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"


def main(folder: Path) -> None:
    """Draw it into a folder."""
    rng = np.random.default_rng(0)

    def two_clusters(n: int) -> np.ndarray:
        rows = rng.normal(size=(n, 2))
        rows[rng.random(n) < 0.5, 0] += 5
        return rows

    positives = two_clusters(400)
    negatives = rng.normal(size=(700, 2)) + np.array([5, 0])
    sample = np.vstack([two_clusters(300), negatives])
    model = RCQ(random_state=0).fit(positives)
    p = model.quantify(sample)
    cut = model.part_.cuts_[0, 1]  # one of its many regions: x0 up to the .4 quantile
    of_positives, of_sample = ((rows[:, 0] <= cut).mean() for rows in (positives, sample))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True)
    axes[0].scatter(*positives.T, s=6, color=BLUE)
    axes[0].set_title(f"400 positives: {of_positives:.0%} of them in the region")
    axes[1].scatter(*sample.T, s=6, color=GREY)
    axes[1].set_title(f"1000 unlabeled rows: {of_sample:.1%} of them in the region")
    for ax in axes:
        ax.axvspan(-4, cut, color=ORANGE, alpha=0.15, lw=0)
        ax.axvline(cut, color=ORANGE)
        ax.set_xlabel("x0")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("x1")
    axes[0].set_xlim(-4, 9)
    figure.suptitle(
        f"At most {of_sample:.3f} / {of_positives:.2f} = {of_sample / of_positives:.2f} positive"
        f" (truth 0.30; PAT {min(1, p.details['pat']):.2f}, "
        f"RCQ {p.details['uncalibrated']:.2f}, calibrated {p:.2f})"
    )
    figure.tight_layout()
    figure.savefig(folder / "rcq.png", dpi=110)
