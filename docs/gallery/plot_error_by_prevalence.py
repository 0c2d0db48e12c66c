"""
Error by prevalence: classify and count beside quantifiers
==========================================================

Counting what a detector accepts errs by p FNR - (1 - p) FPR: a straight line in p that is right
at one prevalence only. In these samples PAT and RCQ stay within 6 points of the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import IsolationForest

from poscount import PAT, RCQ

rng = np.random.default_rng(0)
positives = rng.normal(size=(400, 4))
detector = IsolationForest(contamination=0.1, random_state=0).fit(positives)
answers = {
    "classify and count": lambda sample: (detector.predict(sample) == 1).mean(),
    "PAT": PAT(random_state=0).fit(positives).quantify,
    "RCQ": RCQ(random_state=0).fit(positives).quantify,
}
shares = np.linspace(0, 1, 11)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, (name, distance) in zip(axes, {"far away": 4, "near": 1.5}.items(), strict=True):
    samples = [rng.normal(size=(1000, 4)) for _ in shares]
    for sample, share in zip(samples, shares, strict=True):
        sample[round(1000 * share) :] += distance
    for label, answer in answers.items():
        errors = [answer(sample) - p for sample, p in zip(samples, shares, strict=True)]
        ax.plot(100 * shares, 100 * np.array(errors), marker="o", markersize=3.5, label=label)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_title(f"negatives {name}", fontsize=10)
    ax.set_xlabel("true share of positives (%)")
axes[0].set_ylabel("estimate - truth (points)")
axes[0].legend(frameon=False)
figure.suptitle("Error by prevalence, one sample of 1,000 rows each", fontsize=11)
