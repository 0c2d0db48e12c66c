"""
Error by prevalence: classify and count beside quantifiers
==========================================================

Counting what a detector accepts errs by p FNR - (1 - p) FPR: a straight line in p that is right
at one prevalence only. In these samples PAT and RCQ stay within 6 points of the truth.
"""

import numpy as np
from sklearn.ensemble import IsolationForest

from poscount import PAT, RCQ
from research.experiments import artificial_prevalences
from research.report.displays import Curve, CurvesDisplay

rng = np.random.default_rng(0)
positives = rng.normal(size=(400, 4))
detector = IsolationForest(contamination=0.1, random_state=0).fit(positives)
answers = {
    "classify and count": lambda sample: (detector.predict(sample) == 1).mean(),
    "PAT": PAT(random_state=0).fit(positives).quantify,
    "RCQ": RCQ(random_state=0).fit(positives).quantify,
}
panels = {}
for name, distance in [("negatives far away", 4), ("negatives near", 1.5)]:
    rows = np.vstack([rng.normal(size=(3000, 4)), rng.normal(size=(3000, 4)) + distance])
    samples = list(
        artificial_prevalences(
            rows,
            np.arange(6000) < 3000,
            n_rows=1000,
            prevalences=np.linspace(0, 1, 11),
            random_state=0,
        )
    )
    truth = 100 * np.array([sample.truth for sample in samples])
    panels[name] = [
        Curve(label, truth, 100 * np.array([answer(sample.rows) for sample in samples]) - truth)
        for label, answer in answers.items()
    ]

CurvesDisplay.from_panels(
    panels,
    xlabel="true share of positives (%)",
    ylabel="estimate - truth (points)",
    title="Error by prevalence, one sample of 1,000 rows each",
)
