"""
PAT, threshold by threshold
===========================

PAT estimates the prevalence at 51 thresholds and takes the median. Where no negatives pass, all
thresholds agree.
"""

import numpy as np

from poscount import PAT
from poscount.example import load_example
from poscount.plotting import PATCurveDisplay

positives, trap, truth = load_example()
model = PAT(random_state=0).fit(positives)

PATCurveDisplay.from_estimator(model, trap[trap["night"] == "2026-01-17"])

# %%
# Here 30 % are positive and the others are near, so that negatives pass the low thresholds and
# not the high ones. The curve falls, and its right end is closer to the truth. A level curve is no
# proof of the opposite: negatives that score like positives everywhere lift all of it.

rng = np.random.default_rng(0)
sample = np.vstack([rng.normal(size=(600, 4)), rng.normal(size=(1400, 4)) + 1.2])
model = PAT(random_state=0).fit(rng.normal(size=(400, 4)))

PATCurveDisplay.from_estimator(model, sample)
