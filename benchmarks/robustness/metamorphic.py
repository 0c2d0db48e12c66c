"""How far each method's answer moves when data change in ways that should not matter.

Run it with ``python -m benchmarks.robustness.metamorphic`` (``--data-sets 6``, ``--only rcq``).
It prints a table of the largest changes over some data sets, in points; the tests hold every method
to the bounds in ``tests/metamorphic_relations.py`` on another data set.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from poscount import registry

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from metamorphic_relations import EXACT, RELATIONS, changes

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-sets", type=int, default=6)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=registry.METHODS, default=registry.METHODS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(arguments.first, arguments.first + arguments.data_sets)
    print("| | " + " | ".join(RELATIONS) + " |")
    print("|---" + "|---:" * len(RELATIONS) + "|")
    for method in arguments.only:
        found = [changes(method, seed) for seed in seeds]
        worst = {name: max(each[name] for each in found) for name in RELATIONS}
        cells = ("exact" if most <= EXACT else f"{most:.1f}" for most in worst.values())
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
