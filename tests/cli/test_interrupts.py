"""Commands stopped at random moments, or on a full disk, leave nothing half-written."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork, and signals as Linux has them")
def test_a_short_run_of_the_benchmark():
    """One moment for each trouble of two commands; the long run is a command (docs/safety.md)."""
    command = [sys.executable, "-m", "benchmarks.robustness.interrupts", "--moments", "16"]
    done = subprocess.run(
        [*command, "--seed", "3", "--only", "fit", "quantify --plot"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 with problems" in done.stdout
