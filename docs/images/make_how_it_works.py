"""Makes docs/_static/how-it-works-data.js: RCQ's answers to the settings of the picture that moves.

Run it with ``python docs/images/make_how_it_works.py``.
"""

import itertools
import json
from pathlib import Path

import numpy as np

from poscount import RCQ

PAGE = Path(__file__).resolve().parents[1] / "_static" / "how-it-works-data.js"
N_LABELLED, N_ROWS = 2_000, 10_000
SHARES = tuple(range(0, 101, 10))
# How far apart positives and negatives are, in standard deviations of either.
DISTANCES = (4, 3, 2, 1.5, 1, 0.5)
EXPERT = (None, True)
STEPS = np.linspace(0, 1, 51)


def answers():
    """For each setting, in the order of the three above: what is in the regions, and the answer."""
    rng = np.random.default_rng(0)
    labelled = rng.normal(size=(N_LABELLED, 1))
    # The same rows for each setting, so that nothing moves but what the reader moves.
    positives, negatives = rng.normal(size=(2, N_ROWS, 1))
    cuts = np.quantile(labelled, np.arange(0.1, 1, 0.1))
    models = {expert: RCQ(recognisable=expert, random_state=0).fit(labelled) for expert in EXPERT}
    for share, distance, expert in itertools.product(SHARES, DISTANCES, EXPERT):
        n = share * N_ROWS // 100
        sample = np.concatenate([positives[:n], negatives[: N_ROWS - n] - distance])
        p = models[expert].quantify(sample)
        # How likely each two points are, in tenths of a percent; 0 and 1 are in the first and last.
        below = [0.0, *(p.distribution.cdf(x) for x in STEPS[1:-1]), 1.0]
        yield {
            "regions": np.bincount(np.digitize(sample[:, 0], cuts), minlength=10).tolist(),
            "answer": [round(1000 * x) for x in (p, p.interval.low, p.interval.high)],
            "likely": np.diff(np.round(1000 * np.array(below))).astype(int).tolist(),
        }


def main():
    """Write the file."""
    found = {
        "shares": SHARES,
        "distances": DISTANCES,
        "rows": N_ROWS,
        "answers": list(answers()),
    }
    text = json.dumps(found, separators=(",", ":")).replace('{"regions"', '\n{"regions"')
    PAGE.write_text(f"window.howItWorks = {text};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
