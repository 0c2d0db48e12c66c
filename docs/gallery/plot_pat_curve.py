"""
PAT, threshold by threshold
===========================

PAT estimates the prevalence at 51 thresholds and takes the median. Where no negatives pass, all
thresholds agree.
"""

from poscount import PAT
from poscount.datasets import load_example
from poscount.plotting import PATCurveDisplay

positives, trap, truth = load_example()
model = PAT(random_state=0).fit(positives)

PATCurveDisplay.from_estimator(model, trap[trap["night"] == "2026-01-17"])

# %%
# With two features of eight, negatives pass the low thresholds. The curve falls, and its right end
# is closer to the truth, 34.9 %.

two = PAT(random_state=0).fit(positives, features=["wingbeat_hz", "peak_mv"])
PATCurveDisplay.from_estimator(two, trap[trap["night"] == "2026-01-17"])
