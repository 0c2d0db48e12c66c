"""
AlphaMax: where the likelihood starts to fall
=============================================

AlphaMax asks of every share r: how likely are the data, if a share r of the sample is positive and
the rest may be anything? Up to the truth the curve is flat, because the rest can make up for it;
beyond it the curve falls. The answer is the knee: by default, where the fall exceeds what chance
explains (the shaded area). The published rule looks for the change of slope. Both find it here.
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import AlphaMax

rng = np.random.default_rng(0)
positives = rng.normal(size=(400, 3))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, share in zip(axes, (0.3, 0.65), strict=True):
    n = round(1000 * share)
    sample = np.vstack([rng.normal(size=(n, 3)), rng.normal(size=(1000 - n, 3)) + 2.5])
    p = AlphaMax(random_state=0).fit(positives).quantify(sample)
    published = AlphaMax(knee="published", random_state=0).fit(positives).quantify(sample)
    r, curve = 100 * p.details["grid"], np.asarray(p.details["curve"])
    top = curve.max()
    ax.fill_between(r, -np.asarray(p.details["tolerance"]), 0, color="#dddddd", label="chance")
    ax.plot(r, curve - top, color="#0072B2", label="log-likelihood")
    ax.axvline(100 * p, color="#0072B2", linestyle="--", label=f"answer: {p:.0%}")
    ax.axvline(100 * published, color="#D55E00", linestyle=":", label=f"published: {published:.0%}")
    ax.set_title(f"true share {share:.0%}", fontsize=11)
    ax.set_xlabel("share r that is tried (%)")
    ax.set_ylim(-0.15, 0.01)
    ax.legend(frameon=False, loc="lower right" if share < 0.5 else "lower left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("log-likelihood, from its top")
