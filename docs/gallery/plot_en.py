"""
EN: how sure is a classifier of the labelled rows?
==================================================

EN trains a classifier to tell labelled rows from unlabeled ones, and looks at the probability that
it gives to the labelled rows themselves. Their mean is taken for the label frequency c, the share
of all positives that are labelled; the prevalence follows from it. The larger a dot, the higher its
probability. Where negatives are among the positives, the probabilities are lower, c comes out too
low, and the prevalence too high. EN does not see which unlabeled rows are positive; here they are
marked.
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import EN

rng = np.random.default_rng(0)
positives = rng.normal(size=(300, 2))


def draw(ax, distance):
    sample = np.vstack([rng.normal(size=(600, 2)), rng.normal((distance, 0), size=(600, 2))])
    p = EN(random_state=0).fit(positives).quantify(sample)
    ours = p.details["scores"]
    for marker, name, rows in (("+", "positive", sample[:600]), ("_", "negative", sample[600:])):
        ax.scatter(*rows.T, s=14, marker=marker, color="#999999", label=f"unlabeled, {name}")
    ax.scatter(*positives.T, s=60 * ours**2, color="#0072B2", label="labelled")
    true = len(positives) / (len(positives) + 0.5 * len(sample))
    ax.set_title(
        f"negatives {distance:g} away: c = {p.details['label_frequency']:.2f} "
        f"(true {true:.2f}),\nprevalence {p:.0%} (true 50 %)",
        fontsize=10,
    )
    ax.spines[["top", "right"]].set_visible(False)


figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
draw(axes[0], 6)
draw(axes[1], 2)
axes[0].legend(frameon=False, loc="lower right")
