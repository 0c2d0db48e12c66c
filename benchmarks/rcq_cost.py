"""Cost of RCQ and TRCQ beside PAT: best CPU seconds of several runs that take turns.

Run it with ``python benchmarks/rcq_cost.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from poscount import PAT, RCQ, TRCQ


def best_of_turns(tasks: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(turns):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(500, 20)), rng.normal(size=(2000, 20))
    sample[1000:] += 1
    rows = rng.normal(size=(10**6, 20))
    models = {kind.__name__: kind(random_state=0).fit(positives) for kind in (PAT, RCQ, TRCQ)}
    pat, rcq, trcq = models.values()

    def anew() -> object:
        rcq.regions._nulls.clear()
        return rcq.quantify(sample)

    tasks = {
        "fit on 500 x 20, PAT": lambda: PAT(random_state=0).fit(positives),
        "fit on 500 x 20, RCQ": lambda: RCQ(random_state=0).fit(positives),
        "quantify 2000 x 20, PAT": lambda: pat.quantify(sample),
        "quantify 2000 x 20, RCQ, first of this size": anew,
        "quantify 2000 x 20, RCQ": lambda: rcq.quantify(sample),
    }
    seconds = best_of_turns(tasks, 15)
    seconds |= best_of_turns({"quantify 2000 x 20, TRCQ": lambda: trcq.quantify(sample)}, 3)
    counting = {
        "count 10^6 x 20, PAT": lambda: pat.count(rows),
        "count 10^6 x 20, RCQ": lambda: rcq.count(rows),
    }
    seconds |= best_of_turns(counting, 5)
    print("| task | CPU seconds |")
    print("|---|---|")
    for name, value in seconds.items():
        print(f"| {name} | {value:.4f} |")
    ratio = seconds["count 10^6 x 20, RCQ"] / seconds["count 10^6 x 20, PAT"]
    size = rcq.count(sample).cells.nbytes
    print(f"\ncount: RCQ / PAT = {ratio:.2f}; the counts of a sample take {size} bytes")


if __name__ == "__main__":
    main()
