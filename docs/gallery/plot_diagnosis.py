"""
What a diagnosis tells
======================

All negatives look like one half of the positives. The assumption report says what the answer is if
that is so, and what it is if not.
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import RCQ, diagnose

rng = np.random.default_rng(0)


def around(centre, n):
    return rng.normal(size=(n, 3)) + centre


positives = np.vstack([around(0, 250), around(3, 250)])
sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
report = diagnose(RCQ(random_state=0).fit(positives), sample, positives=positives)
print(report)

# %%
# Where the rows most like positives differ from the labelled ones:

figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
report.pictures[-1](ax)
