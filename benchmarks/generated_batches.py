"""Counting a stream of generated batches: CPU seconds a row and memory, up to 10^8 rows.

Run it with ``python benchmarks/generated_batches.py [--rows 100000000] [--method rcq]``. A few
batches are drawn before the clock starts, and come again and again: so nothing but counting is
measured, and what the counts must be is known. 160 MB of the memory are these batches.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time

import numpy as np

from poscount import registry
from poscount.counts.counts import Counts

BATCH, N_BATCHES, N_FEATURES = 250_000, 4, 20


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--method", default="rcq")
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    model = registry.method(options.method)(random_state=0, n_jobs=options.n_jobs)
    model.fit(rng.standard_normal((500, N_FEATURES)))
    batches = [rng.standard_normal((BATCH, N_FEATURES)) for _ in range(N_BATCHES)]
    once = sum((model.count(batch) for batch in batches[1:]), model.count(batches[0]))
    print("| rows | wall s | CPU s | microseconds of CPU a row | MB |\n|---|---|---|---|---|")
    n_rows = BATCH * N_BATCHES
    while n_rows <= options.rows:
        wall, cpu = time.perf_counter(), time.process_time()
        counts: Counts | None = None
        for batch in itertools.islice(itertools.cycle(batches), n_rows // BATCH):
            counted = model.count(batch)
            counts = counted if counts is None else counts + counted
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert counts is not None
        assert (counts.cells == once.cells * (n_rows // once.n)).all()
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cost = 1e6 * cpu / n_rows
        print(f"| {n_rows:,} | {wall:.2f} | {cpu:.2f} | {cost:.3f} | {megabytes:.0f} |", flush=True)
        n_rows *= 10


if __name__ == "__main__":
    main()
