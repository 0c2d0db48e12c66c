"""
What a diagnosis sees
=====================

All negatives look like one half of the positives. The assumption report sees it, says what to do,
and how often such a warning is a false alarm.
"""

import matplotlib.pyplot as plt
import numpy as np

from poscount import RCQ, diagnose

rng = np.random.default_rng(0)


def around(centre, n):
    return rng.normal(size=(n, 3)) + centre


positives = np.vstack([around(0, 250), around(3, 250)])
sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
diagnosis = diagnose(RCQ(random_state=0).fit(positives), sample)
print(diagnosis.summary)
for finding in diagnosis.by_severity[:2]:
    print(f"\n{finding}")

# %%
# The first warning, as a picture:

figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
diagnosis.by_severity[0].plot(ax)
