"""
The region that TIcE finds and PAT misses
=========================================

Positives come in two groups, and all negatives look like the right one. TIcE cuts the space into
boxes and finds one on the left, where no negative is. PAT's regions are rings around the middle of
all positives, and each of them has negatives. RCQ looks at both kinds of regions.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse, Rectangle

from poscount import PAT, RCQ, TIcE

rng = np.random.default_rng(0)


def two_groups(n):
    rows = rng.normal(size=(n, 2))
    rows[: n // 2, 0] += 6
    return rows


positives = two_groups(400)
negatives = rng.normal((6, 0), size=(700, 2))
sample = np.vstack([two_groups(300), negatives])  # 30 % positive
tice, pat, rcq = (
    method(random_state=0).fit(positives).quantify(sample) for method in (TIcE, PAT, RCQ)
)
box = tice.details["region"].intervals
(left, right), (bottom, top) = (
    np.clip(box.get(name, (-np.inf, np.inf)), -4, 10) for name in ("x0", "x1")
)
# The ring that half of the positives are in, which is PAT's region at q = 0.5.
centre, spread = positives.mean(axis=0), np.cov(positives.T)
distances = np.sqrt(
    np.einsum("ij,jk,ik->i", positives - centre, np.linalg.inv(spread), positives - centre)
)
radius = np.median(distances)

figure, axes = plt.subplots(
    1, 2, figsize=(9.6, 4.2), sharex=True, sharey=True, layout="constrained"
)
for ax in axes:
    ax.scatter(*negatives.T, s=14, color="#D55E00", marker="_", label="negatives")
    ax.scatter(*sample[:300].T, s=18, color="#0072B2", marker="+", label="positives")
    ax.set(xlim=(-4, 10), ylim=(-4, 5))
    ax.spines[["top", "right"]].set_visible(False)
colour = {"facecolor": "#009E73", "alpha": 0.25}
axes[0].add_patch(Rectangle((left, bottom), right - left, top - bottom, **colour))
axes[0].set_title(f"TIcE's region: answer {tice:.0%}", fontsize=11)
width, height = 2 * radius * np.sqrt(np.diag(spread))
axes[1].add_patch(Ellipse(centre, width, height, **colour))
axes[1].set_title(f"PAT's region at q = 0.5: answer {pat:.0%}", fontsize=11)
axes[1].legend(frameon=False, loc="upper left", ncols=2)
figure.suptitle(f"The sample, 30 % positive (RCQ: {rcq:.0%}, up to {rcq.interval.high:.0%})")
