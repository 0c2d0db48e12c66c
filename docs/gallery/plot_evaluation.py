"""
How good is this classifier?
============================

A classifier scores the rows of one night; held-out positives and the share of positives tell its
precision and recall at every threshold, although nobody has labelled a negative.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import poscount
from poscount import RCQ
from poscount.example import load_example
from poscount.plotting import EvaluationDisplay

positives, trap, truth = load_example()
features = list(positives.columns)
learn, held_out = positives[:200], positives[200:]
night, other = (trap.loc[trap["night"] == day, features] for day in ("2026-01-17", "2026-01-13"))
classifier = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(
    np.vstack([learn, other]), np.arange(len(learn) + len(other)) < len(learn)
)
share = RCQ(random_state=0).fit(learn, unlabeled=night).quantify(night)
found = poscount.evaluate(
    classifier.predict_proba(held_out.to_numpy())[:, 1],
    classifier.predict_proba(night.to_numpy())[:, 1],
    share,
    random_state=0,
)

EvaluationDisplay.from_evaluation(found)
