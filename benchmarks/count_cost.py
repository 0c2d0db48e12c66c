"""Cost of PAT's count against the bare matrix product of the same shape, and its extra memory.

Run it with ``python benchmarks/count_cost.py``. Every time is the best of several runs that take
turns with the product, so that a busy machine slows both.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from poscount import PAT
from poscount.threads import one_blas_thread

ROWS = 10**6


def best_of_turns(tasks: dict[str, object], turns: int = 7) -> dict[str, float]:
    """Best wall-clock seconds of each task."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(turns):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def cost(n_features: int, dtype: type) -> None:
    rng = np.random.default_rng(0)
    sample = rng.standard_normal((ROWS, n_features), dtype=dtype)
    square = rng.standard_normal((n_features, n_features)).astype(dtype)
    product = np.empty_like(sample)
    models = {
        n_jobs: PAT(n_jobs=n_jobs, random_state=0).fit(
            rng.standard_normal((500 + n_features, n_features))
        )
        for n_jobs in (1, 2)
    }

    def bare() -> None:
        with one_blas_thread():
            sample @ square

    def into_place() -> None:
        with one_blas_thread():
            np.matmul(sample, square, out=product)

    seconds = best_of_turns(
        {
            "X @ W": bare,
            "matmul(X, W, out=)": into_place,
            "count, 1 thread": lambda: models[1].count(sample),
            "count, 2 threads": lambda: models[2].count(sample),
        }
    )
    for name, value in seconds.items():
        ratio = value / seconds["X @ W"]
        print(f"| {n_features} | {dtype.__name__} | {name} | {value:.3f} | {ratio:.2f} |")


def extra_memory(n_rows: int, dtype: str) -> float:
    """Megabytes that counting adds to a process that already holds the sample."""
    script = (
        "import sys, numpy as np, resource; from poscount import PAT\n"
        "rng = np.random.default_rng(0)\n"
        f"sample = rng.standard_normal(({n_rows}, 20), dtype=np.{dtype})\n"
        "model = PAT(n_jobs=2, random_state=0).fit(rng.standard_normal((500, 20)))\n"
        "model.count(sample[:100])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "model.count(sample)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    print("| features | dtype | task | seconds for 10^6 rows | ratio to X @ W |")
    print("|---|---|---|---|---|")
    for n_features in (20, 64):
        for dtype in (np.float64, np.float32):
            cost(n_features, dtype)
    print("\n| rows x 20 | dtype | extra memory of count, MB |")
    print("|---|---|---|")
    for n_rows in (10**5, 10**6, 10**7):
        for dtype in ("float64", "float32"):
            print(f"| {n_rows} | {dtype} | {extra_memory(n_rows, dtype):.0f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak of this process {peak:.0f} MB")


if __name__ == "__main__":
    main()
