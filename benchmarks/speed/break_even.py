"""From how many rows on a cluster is quicker than one machine.

From the last figures in the history of ``benchmarks/speed/watch.py``: the start of a cluster (S),
what a row costs there (r) and what it costs in the file engine on two cores (t). It prints the
table, and puts it into docs/where-to-count.md with ``--write``.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks.speed.watch import HISTORY, latest, read_history
from benchmarks.speed.watched_files import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "where-to-count.md"
CORES = (8, 32, 128)
ONE_MACHINE = 2


def break_even(start: float, per_row: float, ratio: float, cores: int) -> float:
    """Rows from which on the cluster is quicker; infinity if it never is.

    Examples
    --------
    >>> break_even(10.0, 1e-7, 2.0, 8)
    200000000.0
    """
    gain = 1 - ratio * ONE_MACHINE / cores
    return start / (per_row * gain) if gain > 0 else float("inf")


def table(history: Path) -> str:
    """Markdown table, a line for each way to count on a cluster."""
    found = latest(read_history(history))
    lines = [
        "| engine | start, s | CPU of a row, ratio | "
        + " | ".join(f"{cores} cores" for cores in CORES)
        + " |",
        "|---" * (3 + len(CORES)) + "|",
    ]
    for cluster in ("Dask", "Spark"):
        started = next(of for name, of in found.items() if f"start of {cluster}" in name)
        per_row = started["baseline"] / ROWS
        for what in ("files", "a frame"):
            row = next(of for name, of in found.items() if f"row of {what} on {cluster}" in name)
            sizes = [break_even(started["candidate"], per_row, row["ratio"], k) for k in CORES]
            cells = ["never" if size == float("inf") else f"{size:.0e}" for size in sizes]
            lines.append(
                f"| {cluster}, {what} | {started['candidate']:.0f} | {row['ratio']:.1f} | "
                + " | ".join(cells)
                + " |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, default=HISTORY)
    parser.add_argument("--write", action="store_true", help="put it into docs/where-to-count.md")
    options = parser.parse_args()
    text = table(options.history)
    print(text)
    if options.write:
        begin, end = "<!-- break-even: begin -->", "<!-- break-even: end -->"
        page = re.sub(
            f"{begin}.*?{end}", f"{begin}\n{text}\n{end}", PAGE.read_text("utf-8"), flags=re.DOTALL
        )
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
