"""CPU seconds and memory of every method by rows and by features, each in a process of its own.

python -m benchmarks.speed.cost                                # all methods; an hour, mostly EN
python -m benchmarks.speed.cost --methods pat extice --limit 60
python -m benchmarks.speed.cost --compiled               # TIcE and ExTIcE with numba and without

Gaussian data, 330 positives, half of the sample positive, one thread. The first quantification of
a process, which may compile, is not counted unless it took longer than five seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time

import numpy as np

from poscount import registry
from poscount.methods.pu import tice_search

ROWS = (500, 1000, 2000, 4000, 8000, 16000, 32000, 64000)
FEATURES = (2, 8, 32, 128)
COMPILED = ("tice", "extice")


def seconds_of(method: str, n_rows: int, n_features: int) -> float:
    """CPU seconds of one quantification."""
    rng = np.random.default_rng(0)
    positives = rng.normal(size=(330, n_features))
    sample = rng.normal(size=(n_rows, n_features))
    sample[n_rows // 2 :, 0] += 5
    model = registry.method(method)(random_state=0).fit(positives)
    for _ in range(2):
        start = time.process_time()
        model.quantify(sample)
        seconds = time.process_time() - start
        if seconds > 5:
            break
    return seconds


def measure(method: str, n_rows: int, n_features: int) -> None:
    """Print CPU seconds of one quantification and the peak memory in MB."""
    seconds = seconds_of(method, n_rows, n_features)
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def compiled() -> None:
    print("| method | compiled, s | numpy, s | numpy / compiled |\n|---|---|---|---|")
    for method in COMPILED:
        fast = seconds_of(method, 2000, 8)
        tice_search.can_compile = lambda: False
        slow = seconds_of(method, 2000, 8)
        tice_search.can_compile = lambda: True
        print(f"| {method} | {fast:.4f} | {slow:.3f} | {slow / fast:.0f} |", flush=True)


def in_own_process(method: str, n_rows: int, n_features: int, limit: float) -> tuple[str, str]:
    command = [sys.executable, "-m", "benchmarks.speed.cost", "--measure", method]
    command += [str(n_rows), str(n_features)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            env=os.environ | threads,
            capture_output=True,
            text=True,
            check=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return f"> {limit:g}", ""
    except subprocess.CalledProcessError as error:
        return error.stderr.strip().splitlines()[-1], ""
    seconds, megabytes = map(float, done.stdout.split())
    return f"{seconds:.3g}", f"{megabytes:.0f}"


def table(methods: list[str], head: str, shapes: list[tuple[int, int]], limit: float) -> None:
    names = [f"{rows if head == 'rows' else features}" for rows, features in shapes]
    print(f"\nCPU seconds by {head}, and peak memory of the process at the last, MB\n")
    print(f"| method | {' | '.join(names)} | MB |\n|{'---|' * (len(names) + 2)}")
    for method in methods:
        cells, megabytes = [], ""
        for rows, features in shapes:
            too_slow = bool(cells) and cells[-1].startswith(">")
            seconds, megabytes = (
                (cells[-1], "") if too_slow else in_own_process(method, rows, features, limit)
            )
            cells.append(seconds)
        print(f"| {method} | {' | '.join(cells)} | {megabytes} |", flush=True)


def main() -> None:
    if "--measure" in sys.argv:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=list(registry.METHODS))
    parser.add_argument("--limit", type=float, default=600, help="seconds for one cell")
    parser.add_argument("--compiled", action="store_true")
    arguments = parser.parse_args()
    if arguments.compiled:
        compiled()
        return
    table(arguments.methods, "rows", [(n, 8) for n in ROWS], arguments.limit)
    table(arguments.methods, "features", [(2000, d) for d in FEATURES], arguments.limit)


if __name__ == "__main__":
    main()
