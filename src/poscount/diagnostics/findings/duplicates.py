"""Copies of rows: among the positives, in the sample, and of the positives in the sample."""

from __future__ import annotations

import numpy as np

from poscount.diagnostics.evidence import NOT_NUMBERS, Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked, severity_above
from poscount.diagnostics.row_codes import copies, copies_by_chance, row_codes
from poscount.seeds import stream
from poscount.validation import Rows

AMONG_POSITIVES = About(
    "duplicate-positives",
    "Copies among the positives",
    "share of positives that are copies",
    0.0,
    "copies with noise added or with other digits",
)
IN_SAMPLE = About(
    "duplicate-rows",
    "Copies in the sample",
    "share of rows that are copies",
    0.0,
    "copies with noise added or with other digits",
)
OF_POSITIVES = About(
    "positives-in-sample",
    "Positives in the sample",
    "share of positives found in the sample",
    0.0,
    "positives in the sample with other digits",
)
# Real data without any mistake had up to 0.13 and 0.25.
NOTICE, MOST_COPIES, MOST_FOUND = 0.01, 0.2, 0.3
# Where shuffled columns give as many copies, the values are coarse.
COARSE = 0.01


def duplicate_positives(evidence: Evidence) -> Finding | Unchecked:
    """Look for positives that are exact copies of others."""
    if evidence.positives is None:
        return AMONG_POSITIVES.unchecked(evidence.no_positives)
    return _copies(AMONG_POSITIVES, evidence.positives, evidence.model.seed_, "positives")


def duplicate_rows(evidence: Evidence) -> Finding | Unchecked:
    """Look for rows of the sample that are exact copies of others."""
    if evidence.sample is None:
        return IN_SAMPLE.unchecked(NOT_NUMBERS)
    return _copies(IN_SAMPLE, evidence.sample, evidence.model.seed_, "rows of the sample")


def positives_in_sample(evidence: Evidence) -> Finding | Unchecked:
    """Look for labelled positives that are in the sample, too."""
    if evidence.positives is None:
        return OF_POSITIVES.unchecked(evidence.no_positives)
    if evidence.sample is None:
        return OF_POSITIVES.unchecked(NOT_NUMBERS)
    share = _found_in(row_codes(evidence.positives), row_codes(evidence.sample))
    severity = severity_above(share, NOTICE, MOST_FOUND)
    sentence = f"{100 * share:.1f} % of the labelled positives are rows of the sample, too"
    if severity == "ok":
        return OF_POSITIVES.found(severity, share, MOST_FOUND, f"{sentence}.")
    generator = stream(evidence.model.seed_, "diagnose copies")
    shuffled = (row_codes(rows, generator) for rows in (evidence.positives, evidence.sample))
    if _found_in(*shuffled) > COARSE:
        return _coarse(OF_POSITIVES, share, MOST_FOUND, sentence)
    advice = (
        "take the labelled positives out of the sample: the answer counts them, too, and its "
        "interval is too narrow."
    )
    return OF_POSITIVES.found(severity, share, MOST_FOUND, f"{sentence}.", advice)


def _found_in(codes: np.ndarray, others: np.ndarray) -> float:
    return float(np.isin(codes, others).mean())


def _copies(about: About, rows: Rows, seed: int, what: str) -> Finding:
    share = copies(row_codes(rows))
    severity = severity_above(share, NOTICE, MOST_COPIES)
    sentence = f"{100 * share:.1f} % of the {what} are exact copies of others"
    if severity == "ok":
        return about.found(severity, share, MOST_COPIES, f"{sentence}.")
    if copies_by_chance(rows, seed) > COARSE:
        return _coarse(about, share, MOST_COPIES, sentence)
    advice = "remove copies that were made by mistake: they make the interval too narrow."
    return about.found(severity, share, MOST_COPIES, f"{sentence}.", advice)


def _coarse(about: About, share: float, limit: float, sentence: str) -> Finding:
    sentence += ", as is to be expected of values so coarse."
    return about.found("notice", share, limit, sentence, "give more or finer features.")
