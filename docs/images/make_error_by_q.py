"""PAT's error by q over the whole range, drawn by ``python docs/images/made.py``.

The paper shows it for anuran calls (C) and pulsars (R): mean absolute error of PAT with a single q,
with a band of two standard deviations. Here: Experiment #1, one repetition. As in the tables, the
standard deviation is that at one prevalence, averaged over the prevalences.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poscount import PAT
from poscount.plotting.display import BLUE, ORANGE, pyplot
from research.datasets import load
from research.experiments import protocols

SEED = 0
QUANTILES = (0.01, 0.99)


def main(directory: Path) -> None:
    """Error by q on C and R, with the median over PAT's default range."""
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for ax, key in zip(axes, ("C", "R"), strict=True):
        q, errors, medians = _errors(key)
        mean, deviation = errors.mean(axis=(0, 1)), errors.std(axis=0, ddof=1).mean(axis=0)
        band = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
        low = np.maximum(0, mean - 2 * deviation)
        ax.fill_between(q, low, mean + 2 * deviation, **band, label="two standard deviations")
        ax.plot(q, mean, color=BLUE, label="a single q")
        used = (q > 0.245) & (q < 0.755)
        ax.hlines(medians.mean(), 0.25, 0.75, color=ORANGE, label="median over q = 0.25 to 0.75")
        ax.set_title(load(key).title, fontsize=10)
        ax.set_xlabel("q, quantile of the positives' scores")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        inside = mean[used]
        print(
            f"{key}: {inside.min():.1f} to {inside.max():.1f} inside, median {medians.mean():.1f}"
        )
    axes[0].set_ylim(0, 30)
    axes[0].set_ylabel("absolute error (points)")
    axes[1].legend(frameon=False, fontsize=9)
    figure.suptitle("Error of PAT by q, Experiment #1")
    figure.savefig(directory / "error_by_q.png", dpi=120)


def _errors(key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantiles, and errors in points by fold, prevalence and q; and those of PAT itself."""
    dataset = load(key)
    errors, medians = [], []
    for place in protocols.places("1", dataset, repetitions=1):
        of_place = []
        for positives, sample in protocols.evaluations(dataset, place, SEED):
            model = PAT(q=QUANTILES, random_state=SEED).fit(positives)
            curve = model.quantify(sample.rows).details["curve"]
            of_place.append(100 * np.abs(curve - sample.truth))
            middle = (model.quantiles_ > 0.245) & (model.quantiles_ < 0.755)
            medians.append(100 * abs(np.median(curve[middle]) - sample.truth))
        errors.append(of_place)
    return model.quantiles_, np.array(errors), np.array(medians)
