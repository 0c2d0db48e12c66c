"""Figures of counting: PAT and RCQ beside the bare matrix product, threads, groups and memory."""

from __future__ import annotations

import contextlib
import functools
import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.watch import Figure, Pair

ROWS = 10**6
WIDTHS = (8, 20, 64)
NUMBA = ("numba",)


def rows_and_model(method: str, d: int, **parameters: Any) -> tuple[np.ndarray, Any]:
    """A million rows, half of them positives, and a model of 500 + d positives."""
    from poscount import registry

    load_numba()
    rng = np.random.default_rng(d)
    positives = rng.standard_normal((500 + d, d))
    sample = rng.standard_normal((ROWS, d))
    sample[::2] += 1
    return sample, registry.method(method)(random_state=0, **parameters).fit(positives)


def load_numba() -> None:
    """Import numba where it is not hidden, as a process does that counts many rows."""
    with contextlib.suppress(ImportError):
        importlib.import_module("numba")


def beside_product(method: str, d: int) -> Pair:
    """Counting, and the product of the same rows with a square matrix into memory that is there."""
    sample, model = rows_and_model(method, d, n_jobs=1)
    square, product = np.random.default_rng(1).standard_normal((d, d)), np.empty_like(sample)
    return Pair(lambda: np.matmul(sample, square, out=product), lambda: model.count(sample))


def beside_pat(d: int) -> Pair:
    """RCQ's count and PAT's."""
    sample, rcq = rows_and_model("rcq", d, n_jobs=1)
    _, pat = rows_and_model("pat", d, n_jobs=1)
    return Pair(lambda: pat.count(sample), lambda: rcq.count(sample))


def two_threads(method: str, d: int) -> Pair:
    """Two threads and one."""
    sample, one = rows_and_model(method, d, n_jobs=1)
    _, two = rows_and_model(method, d, n_jobs=2)
    return Pair(lambda: one.count(sample), lambda: two.count(sample))


def groups(method: str, n_groups: int, n_jobs: int = 1) -> Pair:
    """Answers of groups as a frame, and counting the same rows without groups."""
    import pyarrow as pa

    sample, model = rows_and_model(method, 20, n_jobs=n_jobs)
    positives = np.random.default_rng(20).standard_normal((520, 20))
    names = [f"x{j}" for j in range(20)]
    model.fit(pa.table(dict(zip(names, positives.T, strict=True))))
    group = np.random.default_rng(2).integers(n_groups, size=ROWS)
    frame = pa.table({**dict(zip(names, sample.T, strict=True)), "group": group})
    return Pair(lambda: model.count(frame), lambda: model.quantify_by(frame, "group"))


MEMORY = """
import sys, numpy as np, resource
from poscount import registry
rng = np.random.default_rng(0)
sample = rng.standard_normal(({rows}, 20))
model = registry.method("{method}")(n_jobs=2, random_state=0).fit(rng.standard_normal((500, 20)))
model.count(sample[:200000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.count(sample)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(sample.nbytes / 2**20, (after - before) / 1024)
"""


def memory(method: str) -> Pair:
    """Megabytes that counting adds to a process that holds the sample, and those of the sample."""

    def measured(which: int) -> float:
        script = MEMORY.format(rows=2 * ROWS, method=method)
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
        )
        return float(done.stdout.split()[which])

    return Pair(lambda: measured(0), lambda: measured(1))


def groups_in_threads(method: str, n_groups: int) -> Pair:
    """Answers of groups with one thread and with two."""
    one, two = (groups(method, n_groups, n_jobs) for n_jobs in (1, 2))
    return Pair(one.candidate, two.candidate)


GROUP_MEMORY = """
from pathlib import Path
from benchmarks.speed.watched_counting import groups, megabytes
of_groups = groups({method!r}, {n_groups})
of_groups.baseline()
# Linux forgets the peak: making the rows took more than counting them.
Path("/proc/self/clear_refs").write_text("5")
before = megabytes("VmRSS")
of_groups.candidate()
print(max(megabytes("VmHWM") - before, 0.1))
"""


def megabytes(name: str) -> float:
    """Memory of this process, now ("VmRSS") or at most ("VmHWM")."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split(f"{name}:")[1].split()[0]) / 1024


def memory_of_groups(method: str, n_groups: int) -> Pair:
    """Megabytes that answers of groups add to a process that has counted the rows, and theirs.

    It takes so long that it is measured once.
    """
    script = GROUP_MEMORY.format(method=method, n_groups=n_groups)
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    )
    added = float(done.stdout)
    return Pair(lambda: ROWS * 21 * 8 / 2**20, lambda: added)


FIGURES = [
    *(
        Figure(
            f"count {name} / product, d = {d}",
            functools.partial(beside_product, name, d),
            clock=time.process_time,
        )
        for name in ("pat", "rcq")
        for d in WIDTHS
    ),
    *(
        Figure(
            f"count rcq / count pat, d = {d}",
            functools.partial(beside_pat, d),
            clock=time.process_time,
            ratio_at_most=1.6,
        )
        for d in WIDTHS
    ),
    *(
        Figure(
            f"count rcq / count pat, d = {d}, without numba",
            functools.partial(beside_pat, d),
            clock=time.process_time,
            ratio_at_most=2.5,
            hidden=NUMBA,
        )
        for d in WIDTHS
    ),
    *(
        Figure(
            f"count {name}, 2 threads / 1 thread, d = {d}",
            functools.partial(two_threads, name, d),
            ratio_at_most=1 / 1.7,
        )
        for name in ("pat", "rcq")
        for d in WIDTHS
    ),
    *(
        Figure(
            f"quantify_by {name} / count {name}, 10^{power} groups",
            functools.partial(groups, name, 10**power),
            value_at_most=3.0 if power == 5 else None,
            turns=5 if power == 5 else 1,
            warm=power == 5,
            clock=time.process_time,
        )
        for name in ("pat", "rcq")
        for power in (5, 6)
    ),
    Figure(
        "quantify_by rcq, 2 threads / 1 thread, 10^5 groups",
        functools.partial(groups_in_threads, "rcq", 10**5),
        turns=2,
    ),
    *(
        Figure(
            f"memory of quantify_by {name} / of 10^6 rows, 10^{power} groups",
            functools.partial(memory_of_groups, name, 10**power),
            unit="MB",
            turns=1,
        )
        for name in ("pat", "rcq")
        for power in (5, 6)
    ),
    *(
        Figure(
            f"memory of count {name} / of 2 * 10^6 rows",
            functools.partial(memory, name),
            unit="MB",
            turns=2,
            warm=False,
        )
        for name in ("pat", "rcq")
    ),
]
