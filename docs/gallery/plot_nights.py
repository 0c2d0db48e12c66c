"""
Prevalence by night
===================

A point with its 95 % interval for each night of the embedded trap, and the true share beside it.
In real data nobody has the crosses.
"""

from datetime import date

from poscount import RCQ
from poscount.example import load_example
from poscount.plotting import PrevalenceDisplay

positives, trap, truth = load_example()
groups = RCQ(random_state=0).fit(positives).quantify_groups(trap, by="night")

PrevalenceDisplay.from_predictions(
    list(groups.values()),
    [date.fromisoformat(night) for (night,) in groups],
    truth=truth["positives"] / truth["rows"],
    title="Aedes aegypti females in a trap",
    xlabel="night",
)
