"""What the calibrations that poscount comes with are made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from poscount.errors import InputError
from poscount.files.features import describe_column
from poscount.training.sources import Source, read_table
from research.calibrations import BUNDLED, as_numbers, bundled, corrupted
from research.datasets import data_directory, sample_vowels_network

TABLES = (
    *("anuran_calls", "arabic_digit", "chess_krkp", "credit_approval", "dna_splice"),
    *("german_credit", "handwritten_qg", "htru2", "japanese_vowels", "letter", "pendigits", "wine"),
)
# Columns of these that are other labels, or say who made a row.
OTHER_LABELS = ("sex", "genus", "species", "author")
# Tasks of a source, where there are not 180: few rows, or classes that hardly differ, of which
# there would be too many otherwise. A bank is a prior: what half of its tasks cannot tell apart,
# no calibration will.
N_TASKS = 180
FEWER = {
    "chess_krkp": 60,
    "credit_approval": 48,
    "dna_splice": 60,
    "german_credit": 48,
    "sklearn_breast_cancer": 120,
    "sklearn_digits": 120,
    "sklearn_iris": 48,
    "sklearn_wine": 48,
}
# Tables of numbers, of which some columns become words and some values go.
N_TASKS_AS_TABLE = 48
FAMILIES = {"mixture": 600, "regression": 156, "margins": 120, "parity": 36, "gaps": 180}
# Tables of `data/bank`; what is untouched until the end is in `research/tuning/next_rcq_split.md`,
# and text, pictures and arrhythmia, whose classes are too small, are left out.
BANK_TABLES = (
    *("ai4i_failures", "anneal", "authorship", "bird_strikes", "caravan", "churn", "comics"),
    *("covtype_reduced", "cylinder_bands", "eeg_eye_state", "gesture_phase", "hotel_rates"),
    *("hypothyroid", "jm1", "leaf_flavia", "lending_club", "loans_full", "nursery"),
    *("occupancy_detection", "oil_spill", "otto_products", "outdoor_objects", "ozone_level_8hr"),
    *("police_force", "qsar_biodeg", "seattle_weather", "sick", "soybean", "squirrel_census"),
    *("storms", "stroke", "theorem_proving", "transport_mode", "volcanoes_d1", "wall_robot"),
    *("yeast_ml8", "yrbss"),
)
UNTOUCHED = (
    *("adult", "banknote", "cardiotocography", "cells", "covid_testing", "credit_card_default"),
    *("houses", "mammography", "mozilla", "steel_plates_fault", "telco_churn", "us_crime"),
)
KIN = {"sick": "hypothyroid", "lending_club": "loans_full"}
# Those in whose tasks classes can hardly be told apart: in fewer than half of them the area under
# the ROC curve of extra trees is .95 (by the README of `data/bank`).
HARDLY_RECOGNISABLE = (
    *("bird_strikes", "caravan", "churn", "comics", "covtype_reduced", "cylinder_bands"),
    *("eeg_eye_state", "gesture_phase", "hotel_rates", "jm1", "lending_club", "loans_full"),
    *("oil_spill", "ozone_level_8hr", "police_force", "qsar_biodeg", "seattle_weather", "sick"),
    *("storms", "stroke", "theorem_proving", "volcanoes_d1", "yeast_ml8", "yrbss"),
)
# Of tables in `data/bank`.
N_TASKS_OF_BANK, FEWER_OF_BANK = 96, 36
# Learning a score takes half a second. With as many tasks of tables that are hardly recognisable as
# of others, the median of whatever overlaps would be next to 0, because a third of all samples are.
N_TASKS_WITH_REFERENCE, FEWER_WITH_REFERENCE = 36, 12
# Kinds need a dozen models for each task and each of two references, seven seconds in all, and 80
# positives. Synthetic mixtures whose weights drift are not among them, because with them errors on
# drifting data sets that were left out were larger.
N_TASKS_WITH_KINDS = 24
FEWER_WITH_KINDS = {
    "credit_approval": 12,
    "german_credit": 12,
    "sklearn_iris": 0,
    "sklearn_wine": 0,
}
N_TASKS_OF_BANK_WITH_KINDS, FEWER_OF_BANK_WITH_KINDS = 24, 12
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


def bank_source(name: str) -> Source:
    """A table of `data/bank`, without the columns that users would be told to leave out."""
    source = described_source(data_directory() / "bank" / f"{name}.csv.gz")
    return source._replace(kin=KIN.get(name, name))


def described_source(path: Path) -> Source:
    """A table with a column `class`, without those that users would be told to leave out."""
    from pyarrow import csv

    table = csv.read_csv(path)
    left_out = [
        column
        for column in table.column_names
        if column != "class" and describe_column(table[column], column).why_not_used
    ]
    return read_table(path, "class", left_out)


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
                yield as_numbers(source), N_TASKS_WITH_GROUPS[source.name]
        yield "mixture", CLUSTERS_WITH_GROUPS
        return
    if method == "RCQ-kinds":
        for source in sources():
            yield as_numbers(source), FEWER_WITH_KINDS.get(source.name, N_TASKS_WITH_KINDS)
        tables = _bank_tables(N_TASKS_OF_BANK_WITH_KINDS, FEWER_OF_BANK_WITH_KINDS)
        # With hundreds of words as columns, a task would take minutes.
        yield from ((as_numbers(source), n) for source, n in tables if not source.words)
        return
    if method == "RCQ-reference":
        yield from ((source, N_TASKS_WITH_REFERENCE) for source in sources())
        yield from dict.fromkeys(FAMILIES, N_TASKS_WITH_REFERENCE).items()
        yield from _bank_tables(N_TASKS_WITH_REFERENCE, FEWER_WITH_REFERENCE)
        return
    for source in sources():
        n_tasks = FEWER.get(source.name, N_TASKS)
        yield source, n_tasks
        if not source.words:
            spoilt = source._replace(name=f"{source.name}_as_table", change=corrupted)
            yield spoilt, min(n_tasks, N_TASKS_AS_TABLE)
    yield from FAMILIES.items()
    yield from _bank_tables(N_TASKS_OF_BANK, FEWER_OF_BANK)


def _bank_tables(n_tasks: int, if_hard: int) -> Iterator[tuple[Source, int]]:
    for name in BANK_TABLES:
        yield bank_source(name), if_hard if name in HARDLY_RECOGNISABLE else n_tasks
