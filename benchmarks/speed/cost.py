"""CPU seconds of methods by rows and by features, with the slope of their growth.

    python -m benchmarks.speed.cost                                     # all; an hour, mostly EN
    python -m benchmarks.speed.cost --methods pat rcq tice extice ranfoce         # a minute

The paper (appendix) corrects TIcE's published O(m n) to O(min(n^2, 2^m n)) for m features and n
rows, if every feature splits once and every split halves the rows. The implementation stops after
500 regions and at regions of a tenth of a fold, so that neither bound is reached: a split looks at
all features of the region's rows, O(m n_i), and the regions' sizes add up to at most 500 n.
ExTIcE queues the halves of every feature; RanFocE splits at random, at the cost of the rows alone.

CPU seconds of one thread, the smallest of `--turns` answers after a first one that may compile; the
slope of log seconds in log rows or log features by least squares, with its 95 % interval
(Student's t). Gaussian positives, a tenth of the rows labelled, half of the sample positive,
negatives 3 away in one feature. After an answer that takes longer than `--limit`, larger sizes are
left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from poscount import registry

ROWS = (1000, 2000, 4000, 8000, 16000, 32000)
FEATURES = (2, 4, 8, 16, 32, 64)


def cpu_seconds(method: str, n: int, m: int, turns: int) -> float:
    """Seconds of an answer from a tenth of n labelled and n unlabeled rows with m features."""
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(n // 10, m)), rng.normal(size=(n, m))
    sample[n // 2 :, 0] += 3
    model = registry.method(method)(random_state=0).fit(positives)
    model.quantify(sample[:100])
    seconds = []
    for _ in range(turns):
        start = time.process_time()
        model.quantify(sample)
        seconds.append(time.process_time() - start)
    return min(seconds)


def growing(method: str, sizes: list[tuple[int, int]], turns: int, limit: float) -> Iterator[float]:
    """Seconds for sizes that grow, until one takes longer than the limit."""
    for n, m in sizes:
        seconds = cpu_seconds(method, n, m, turns)
        yield seconds
        if seconds > limit:
            return


def slope(x: tuple[int, ...], y: list[float]) -> str:
    """Slope of log y in log x, with its interval; empty if there are fewer than three points."""
    if len(y) < 3:
        return ""
    fit = stats.linregress(np.log(x[: len(y)]), np.log(y))
    half = stats.t.ppf(0.975, len(y) - 2) * fit.stderr
    return f"{fit.slope:.2f} ({fit.slope - half:.2f} to {fit.slope + half:.2f})"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds of an answer")
    parser.add_argument("--methods", nargs="+", default=list(registry.METHODS))
    given = parser.parse_args()
    for title, values, sizes in (
        ("rows, 16 features", ROWS, [(n, 16) for n in ROWS]),
        ("features, 4,000 rows", FEATURES, [(4000, m) for m in FEATURES]),
    ):
        print(f"\n| {title} | {' | '.join(f'{value:,}' for value in values)} | slope |")
        print("|---" * (len(values) + 2) + "|")
        for method in given.methods:
            seconds = list(growing(method, sizes, given.turns, given.limit))
            cells = [f"{value:.4f}" for value in seconds] + [""] * (len(values) - len(seconds))
            name = registry.method(method).__name__
            print(f"| {name} | {' | '.join(cells)} | {slope(values, seconds)} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
