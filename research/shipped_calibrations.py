"""What the calibrations that poscount comes with are made from."""

from __future__ import annotations

from collections.abc import Iterator

from poscount.errors import InputError
from poscount.training.sources import BUNDLED, Source, bundled, read_table
from research.datasets import data_directory, sample_vowels_network

TABLES = (
    *("anuran_calls", "arabic_digit", "chess_krkp", "credit_approval", "dna_splice"),
    *("german_credit", "handwritten_qg", "htru2", "japanese_vowels", "letter", "pendigits", "wine"),
)
# Columns of these that are other labels, or say who made a row.
OTHER_LABELS = ("sex", "genus", "species", "author")
# Tasks of a source, where there are not 1,400: few rows, or classes that hardly differ, of which
# there would be too many otherwise. A bank is a prior: what half of its tasks cannot tell apart,
# no calibration will.
N_TASKS = 1_400
FEWER = {
    "chess_krkp": 300,
    "credit_approval": 250,
    "dna_splice": 300,
    "german_credit": 250,
    "sklearn_breast_cancer": 700,
    "sklearn_digits": 1_000,
    "sklearn_iris": 200,
    "sklearn_wine": 250,
}
# Tables of numbers, of which some columns become words and some values go.
N_TASKS_AS_TABLE = 250
FAMILIES = {"mixture": 5_000, "regression": 1_000, "margins": 600, "parity": 200}
# TRCQ learns from every sample, which takes a second.
SHARE_FOR_TRCQ = 0.2
# Kinds need a dozen models for each task, and 80 positives. Synthetic mixtures whose weights drift
# are not among them, because with them errors on drifting data sets that were left out were larger.
N_TASKS_WITH_KINDS = 240
FEWER_WITH_KINDS = {
    "chess_krkp": 150,
    "credit_approval": 120,
    "dna_splice": 150,
    "german_credit": 100,
    "sklearn_breast_cancer": 200,
    "sklearn_iris": 0,
    "sklearn_wine": 0,
}
# Several groups need several classes; the other sources have two. Each task learns a model for each
# group, and has a line for each group of each sample, so fewer tasks are enough.
N_TASKS_WITH_GROUPS = {
    "anuran_calls": 30,
    "arabic_digit": 50,
    "dna_splice": 20,
    "japanese_vowels": 50,
    "letter": 60,
    "pendigits": 50,
    "sklearn_digits": 40,
    "sklearn_iris": 15,
    "sklearn_wine": 15,
    "vowels_network": 30,
}
CLUSTERS_WITH_GROUPS = 60


def sources() -> Iterator[Source]:
    """All sources: files in the data directory, scikit-learn's own, and B's stand-in."""
    for name in TABLES:
        path = data_directory() / f"{name}.csv.gz"
        if not path.is_file():
            raise InputError(
                "the shipped calibration is made from this file too; set POSCOUNT_DATA to the "
                "directory that has it.",
                file=str(path),
            )
        yield read_table(path, "class", OTHER_LABELS)
    yield from map(bundled, BUNDLED)
    network = sample_vowels_network()
    yield Source("vowels_network", "japanese_vowels", network.features, network.labels)


def shipped_plan(method: str) -> Iterator[tuple[Source | str, int]]:
    """Sources and numbers of tasks of the bank for one of the methods."""
    if method in ("RCQ-groups", "RCQ-other"):
        for source in sources():
            if source.name in N_TASKS_WITH_GROUPS:
                yield source.as_numbers(), N_TASKS_WITH_GROUPS[source.name]
        yield "mixture", CLUSTERS_WITH_GROUPS
        return
    if method == "RCQ-kinds":
        for source in sources():
            yield source.as_numbers(), FEWER_WITH_KINDS.get(source.name, N_TASKS_WITH_KINDS)
        return
    share = SHARE_FOR_TRCQ if method == "TRCQ" else 1.0
    for source in sources():
        n_tasks = FEWER.get(source.name, N_TASKS)
        yield source, round(share * n_tasks)
        if not source.words:
            spoilt = source._replace(name=f"{source.name}_as_table", as_table=True)
            yield spoilt, round(share * min(n_tasks, N_TASKS_AS_TABLE))
    for name, n_tasks in FAMILIES.items():
        yield name, round(share * n_tasks)
