"""
A moving window over a stream
=============================

The recordings of nine nights as one stream, in batches of 500. A window of 1,000 rows moves by
250: each row is counted once, and counts that leave the window are subtracted.
"""

import matplotlib.pyplot as plt

from poscount import RCQ
from poscount.engines import windows
from poscount.example import load_example
from poscount.plotting import PrevalenceDisplay

positives, trap, truth = load_example()
model = RCQ(random_state=0).fit(positives)
stream = (trap[start : start + 500] for start in range(0, len(trap), 500))
found = list(windows(model, stream, size=1000, step=250))

PrevalenceDisplay.from_predictions(
    [window.prevalence for window in found],
    [f"{window.end:,}" for window in found],
    title="Share of positives in the last 1,000 recordings, RCQ",
    xlabel="recordings so far",
    ax=plt.subplots(figsize=(9, 4.2), layout="constrained")[1],
)
