"""
Where the positives are among the scores
========================================

The histogram of the sample's scores, and the positives scaled to the estimated share of it. What
is left of the grey area are negatives. Where the blue line rises above the grey, the estimate
would be too high, or the positives of the sample are others than those learned from.
"""

from poscount import PAT
from poscount.example import load_example
from poscount.plotting import ScoreDistributionDisplay

positives, trap, truth = load_example()
night = trap[trap["night"] == "2026-01-17"]
model = PAT(random_state=0).fit(positives)

ScoreDistributionDisplay.from_estimator(model, positives, night)
