"""Import times in fresh processes, beside scikit-learn's own: python benchmarks/import_time.py."""

from __future__ import annotations

import subprocess
import sys

STATEMENTS = {
    "import poscount": "import poscount",
    "import sklearn.base": "import sklearn.base",
    "from poscount import PAT": "from poscount import PAT",
    "poscount --help": "import sys; sys.argv = ['poscount', '--help']\n"
    "from poscount.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass",
}


def seconds(statement: str) -> float:
    script = (
        f"import time; start = time.perf_counter()\n{statement}\n"
        "import sys; print(time.perf_counter() - start, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return float(done.stderr.split()[-1])


def main() -> None:
    print("| statement | seconds, best of 5 fresh processes |\n|---|---|")
    for name, statement in STATEMENTS.items():
        print(f"| {name} | {min(seconds(statement) for _ in range(5)):.3f} |")


if __name__ == "__main__":
    main()
