"""
Several targets by night
========================

Shares of three kinds of mosquito, and of everything else, in every night of the embedded trap. They
add up to 100 %. A line at the upper end of a target is its 95 % interval.
"""

from datetime import date

import numpy as np
import pandas as pd

from poscount import MultiRCQ
from poscount.example import load_example
from poscount.example.simulate import FEATURES, record
from poscount.plotting import TargetSharesDisplay

rng = np.random.RandomState(1)
species = {
    "aegypti": "Aedes aegypti female",
    "aegypti male": "Aedes aegypti male",
    "culex": "Culex quinquefasciatus female",
}
positives = {
    name: pd.DataFrame(record(insect, 300, rng), columns=list(FEATURES))
    for name, insect in species.items()
}
model = MultiRCQ(random_state=0).fit(positives)
groups = model.quantify_groups(load_example("pandas").trap, by="night")

TargetSharesDisplay.from_predictions(
    list(groups.values()),
    [date.fromisoformat(night) for (night,) in groups],
    title="Mosquitoes in a trap",
    xlabel="night",
)
