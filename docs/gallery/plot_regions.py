"""
Which region decided?
=====================

RCQ looks at hundreds of regions of the positives' space. One that holds a share m of the
positives and a share s of the sample says that at most s / m is positive, up to noise. Here are
those with the smallest upper bounds, for one night of the embedded trap (truth: 34.9 %).
"""

from poscount import RCQ
from poscount.example import load_example
from poscount.plotting import RegionDisplay

positives, trap, truth = load_example()
model = RCQ(random_state=0).fit(positives)

RegionDisplay.from_estimator(model, trap[trap["night"] == "2026-01-17"])
