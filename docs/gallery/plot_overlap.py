"""
When negatives look like part of the positives
==============================================

Half of the positives are around 0, half around 5, and all negatives are around 5, too. For a
score they are good positives: PAT counts them all. RCQ finds the region that they avoid, and
says which it is.
"""

import numpy as np

from poscount import PAT, RCQ
from poscount.plotting import PrevalenceDisplay

rng = np.random.default_rng(0)


def around(centre, n):
    return rng.normal(size=(n, 3)) + centre


positives = np.vstack([around(0, 200), around(5, 200)])
shares = [0.1, 0.3, 0.5, 0.7, 0.9]
samples = [
    np.vstack([around(0, int(500 * p)), around(5, int(500 * p)), around(5, int(1000 * (1 - p)))])
    for p in shares
]


def draw(model):
    PrevalenceDisplay.from_predictions(
        [model.quantify(sample) for sample in samples],
        [f"{100 * p:.0f} %" for p in shares],
        truth=shares,
        title=f"Overlap, {type(model).__name__}",
        xlabel="true share of positives",
    )


draw(PAT(random_state=0).fit(positives))

# %%
# The same samples, by RCQ:

rcq = RCQ(random_state=0).fit(positives)
draw(rcq)

# %%
# The region that decided about the second sample:

region = rcq.quantify(samples[1]).details["region"]
print(f"{region['where']}: {region['share']:.0%} of the positives are there")
print(f"ratio {region['ratio']:.2f}, at most {region['high']:.2f}")
