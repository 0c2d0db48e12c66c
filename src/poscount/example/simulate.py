"""Writes the embedded example: ``python -m poscount.example.simulate DIR``.

The recordings are simulated. Each insect has a body size, a distance from the laser and an angle
of flight. These three, which nobody records, affect the eight features that the sensor records, so
that the features are correlated and mildly skewed, as real ones are. The target species is the same
on every night; the other insects are not.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

TARGET = "Aedes aegypti female"
N_POSITIVES = 400
FIRST_NIGHT = date(2026, 1, 12)

# For each feature: decimals in the file, whether it varies by factors rather than by sums, its
# standard deviation within a species (of the logarithm, if by factors), and how much of it comes
# from the insect's size, its closeness to the laser and its angle of flight.
FEATURES = {
    "wingbeat_hz": (1, True, 0.045, (-0.6, 0.0, 0.0)),
    "bandwidth_hz": (1, True, 0.25, (-0.2, -0.4, 0.2)),
    "harmonic2_db": (1, False, 2.0, (0.1, 0.2, 0.6)),
    "harmonic3_db": (1, False, 2.3, (0.1, 0.3, 0.7)),
    "harmonic4_db": (1, False, 2.6, (0.0, 0.3, 0.6)),
    "entropy_bits": (2, False, 0.35, (0.0, -0.6, -0.3)),
    "crossing_ms": (1, True, 0.3, (0.3, -0.2, 0.4)),
    "peak_mv": (1, True, 0.45, (0.5, 0.7, 0.0)),
}

# What is typical of a species, in the order of the features.
INSECTS = {
    TARGET: (500, 22, -6.0, -11.0, -15.5, 4.1, 95, 42),
    "Aedes aegypti male": (690, 30, -8.0, -14.0, -19.0, 4.5, 70, 24),
    "Culex quinquefasciatus female": (395, 20, -5.0, -9.5, -14.0, 3.9, 110, 46),
    "Culex quinquefasciatus male": (565, 27, -8.0, -13.5, -18.5, 4.4, 80, 27),
    "Anopheles gambiae female": (425, 25, -8.0, -13.0, -17.0, 4.3, 105, 34),
    "Musca domestica": (190, 9, -2.5, -5.0, -8.0, 3.2, 55, 120),
    "Drosophila melanogaster": (230, 14, -9.0, -15.0, -20.0, 4.6, 120, 14),
    "Apis mellifera": (235, 8, -2.0, -4.0, -6.5, 3.0, 60, 190),
}

# The season of the target begins: recordings of each night, and the chance that one is a target.
NIGHTS = (
    (620, 0.00),
    (910, 0.02),
    (480, 0.06),
    (1140, 0.13),
    (760, 0.24),
    (1480, 0.35),
    (1020, 0.52),
    (350, 0.45),
    (1310, 0.70),
)


def record(insect: str, n: int, rng: np.random.RandomState) -> np.ndarray:
    """Simulate n recordings of one kind of insect, one row each."""
    _, by_factors, deviations, causes = map(np.array, zip(*FEATURES.values(), strict=True))
    skewed = (rng.gamma(4.0, size=(n, 2)) - 4.0) / 2.0
    hidden = np.column_stack([skewed, rng.standard_normal(n)])
    own = np.sqrt(1.0 - np.sum(causes**2, axis=1))
    change = deviations * (hidden @ causes.T + own * rng.standard_normal((n, len(own))))
    typical = np.array(INSECTS[insect], dtype=float)
    return np.where(by_factors, typical * np.exp(change), typical + change)


def catch(rows: int, chance: float, rng: np.random.RandomState) -> tuple[np.ndarray, int]:
    """Simulate one night: its recordings in random order, and how many of them are targets."""
    positives = rng.binomial(rows, chance)
    others = [insect for insect in INSECTS if insect != TARGET]
    company = rng.multinomial(rows - positives, rng.dirichlet(np.full(len(others), 1.5)))
    recordings = [record(TARGET, positives, rng)]
    recordings += [record(insect, n, rng) for insect, n in zip(others, company, strict=True)]
    return rng.permutation(np.concatenate(recordings)), positives


def write(directory: Path) -> None:
    """Write positives.csv, trap.csv.gz and truth.csv into a directory."""
    # RandomState is the only generator of numpy with the same numbers in every version.
    rng = np.random.RandomState(20260112)
    positives = _lines(record(TARGET, N_POSITIVES, rng))
    trap, truth = [], []
    for day, (rows, chance) in enumerate(NIGHTS):
        night = (FIRST_NIGHT + timedelta(days=day)).isoformat()
        recordings, n_positives = catch(rows, chance, rng)
        trap += [f"{night},{line}" for line in _lines(recordings)]
        truth.append(f"{night},{n_positives},{rows}")
    (directory / "positives.csv").write_bytes(_csv(FEATURES, positives))
    # Without a time and a name in the header, equal content gives equal bytes.
    zipped = gzip.compress(_csv(["night", *FEATURES], trap), mtime=0)
    (directory / "trap.csv.gz").write_bytes(zipped)
    (directory / "truth.csv").write_bytes(_csv(["night", "positives", "rows"], truth))


def _lines(recordings: np.ndarray) -> list[str]:
    formats = [f"{{:.{decimals}f}}" for decimals, *_ in FEATURES.values()]
    pattern = ",".join(formats)
    return [pattern.format(*row) for row in recordings.tolist()]


def _csv(names: Iterable[str], lines: Sequence[str]) -> bytes:
    return "\n".join([",".join(names), *lines, ""]).encode()


def main() -> None:
    """Read the directory from the command line."""
    parser = argparse.ArgumentParser(description="Write poscount's example data.")
    parser.add_argument("directory", type=Path)
    write(parser.parse_args().directory)


if __name__ == "__main__":
    main()
