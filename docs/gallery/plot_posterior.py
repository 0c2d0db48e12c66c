"""
Probability of each row
=======================

A count needs no decision about a row. `posterior` gives each row a probability anyway, whose
mean is the prevalence. Here are those of one night, with the wing beat that each insect had: the
species beats its wings about 500 times a second.
"""

import matplotlib.pyplot as plt

from poscount import RCQ
from poscount.example import load_example

positives, trap, truth = load_example()
night = trap[trap["night"] == "2026-01-17"]
model = RCQ(random_state=0).fit(positives)
probability = model.posterior(night)

figure, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
points = ax.scatter(
    night["wingbeat_hz"], night["harmonic2_db"], c=probability, s=10, cmap="cividis", vmin=0, vmax=1
)
figure.colorbar(points, label="probability of being positive")
ax.set_xlabel("wing beat (Hz)")
ax.set_ylabel("second harmonic (dB)")
ax.set_title(f"{len(night)} insects, mean probability {probability.mean():.3f}")
ax.spines[["top", "right"]].set_visible(False)
