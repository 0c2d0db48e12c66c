"""
Seconds of several methods
==========================

CPU seconds to answer for a sample, of a model that is fitted already. Reusable methods only
count; the others look at the positives and the sample together, every time.
"""

import time

from poscount import BBE, DEDPUL, PAT, RCQ, TRCQ, TIcE
from poscount.example import load_example
from research.report.displays import DotsDisplay

positives, trap, truth = load_example()
nights = dict(list(trap.groupby("night"))[:4])


def cpu_seconds(model, sample):
    start = time.process_time()
    model.quantify(sample)
    return time.process_time() - start


seconds = {}
for method in (PAT, RCQ, TIcE, BBE, DEDPUL, TRCQ):
    model = method(random_state=0).fit(positives)
    model.quantify(nights["2026-01-12"])  # what is made once, is made now
    seconds[method.__name__] = {name: cpu_seconds(model, rows) for name, rows in nights.items()}

DotsDisplay.from_numbers(
    seconds, xlabel="CPU seconds for one night", title="Four nights, 480 to 1,140 rows"
)
