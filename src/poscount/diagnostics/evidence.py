"""What the checks look at: the model's answer, the rows behind it, and RCQ's view of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from poscount.base import Quantifier, TransductiveQuantifier
from poscount.counts import Counts
from poscount.errors import InputError
from poscount.prevalence import Prevalence
from poscount.reusable.rcq import FEWEST_POSITIVES, RCQ
from poscount.seeds import stream
from poscount.transductive.trcq import TRCQ
from poscount.validation import InputSupport, Rows

MOST_ROWS = 10_000
NO_POSITIVES = "a model does not keep the positives: give them, too (positives=, --positives)."
NOT_NUMBERS = "it needs numbers in all rows: these hold text, missing values or sparse rows."


@dataclass(frozen=True)
class Evidence:
    """Everything that a check may ask for.

    Attributes
    ----------
    model : Quantifier
    answer : Prevalence
        Of the model, for the sample.
    sample : Rows or None
        None if the rows are not all finite numbers.
    positives : Rows or None
        None if they are not known, or not all finite numbers.
    reference : Rows or None
        The second sample.
    regions : RCQ or None
        On the same positives: the model itself, or fitted for the purpose.
    no_positives, no_regions : str
        Why one or the other is not there.
    """

    model: Quantifier
    answer: Prevalence
    sample: Rows | None
    positives: Rows | None
    reference: Rows | None
    regions: RCQ | None
    no_positives: str
    no_regions: str

    @functools.cached_property
    def counts(self) -> Counts:
        """The sample as RCQ counts it."""
        assert self.regions is not None
        assert self.sample is not None
        return self.regions.count(self.sample.data)

    @functools.cached_property
    def regional(self) -> Prevalence:
        """RCQ's answer for the sample."""
        if self.answer.method == "RCQ":
            return self.answer
        assert self.regions is not None
        return self.regions.estimate(self.counts)

    @functools.cached_property
    def sample_part(self) -> np.ndarray:
        """At most 10,000 rows of the sample, drawn at random."""
        assert self.sample is not None
        return _part(self.sample, self.model.seed_, "sample")

    @functools.cached_property
    def positives_part(self) -> np.ndarray:
        """At most 10,000 positives, drawn at random."""
        assert self.positives is not None
        return _part(self.positives, self.model.seed_, "positives")


def gather(model: Quantifier, sample: Any, positives: Any, reference: Any) -> Evidence:
    """Look at the model, its sample, and whatever else is known."""
    answer = model.quantify(sample)
    rows = as_numbers(model._sample(sample))
    learned, no_positives = _learned_from(model, positives)
    other = None if reference is None else _second_sample(model, reference)
    regions, no_regions = _regions(model, learned, no_positives)
    if rows is None:
        regions, no_regions = None, NOT_NUMBERS
    return Evidence(model, answer, rows, learned, other, regions, no_positives, no_regions)


def as_numbers(rows: Rows) -> Rows | None:
    """The same rows for a reader that takes finite numbers only; None if they are not such."""
    if sparse.issparse(rows.data):
        return None
    if rows.frame:
        numeric = all(t.is_numeric() or t.is_boolean() for t in rows.data.schema.values())
    else:
        numeric = rows.data.dtype.kind in "fiub"
    plain = Rows(rows.data, rows.names, InputSupport())
    try:
        if numeric:
            for _ in plain.blocks():
                pass
    except InputError:
        return None
    return plain if numeric else None


def blocks(rows: Rows) -> Iterator[np.ndarray]:
    """The rows as float64, block by block."""
    for block in rows.blocks():
        yield np.asarray(block, np.float64)


def _learned_from(model: Quantifier, positives: Any) -> tuple[Rows | None, str]:
    if positives is None and isinstance(model, TransductiveQuantifier | TRCQ):
        return Rows(model.positives_, None, InputSupport()), ""
    if positives is None:
        return None, NO_POSITIVES
    rows = model._sample(positives)
    if len(rows) != model.n_labeled_:
        raise InputError(
            f"These are {len(rows)} positives, but the model was fitted on {model.n_labeled_}: "
            "give those."
        )
    return as_numbers(rows), NOT_NUMBERS


def _second_sample(model: Quantifier, reference: Any) -> Rows | None:
    rows = model._sample(reference)
    if len(rows) == 0:
        raise InputError("The reference has no rows (0 sample(s)): at least one is needed.")
    return as_numbers(rows)


def _regions(
    model: Quantifier, positives: Rows | None, no_positives: str
) -> tuple[RCQ | None, str]:
    if isinstance(model, TRCQ):
        model = model.rcq_
    if model.n_labeled_ < FEWEST_POSITIVES:
        return None, f"RCQ needs at least {FEWEST_POSITIVES} positives: give more."
    if not isinstance(model, RCQ):
        if positives is None:
            return None, no_positives
        try:
            model = RCQ(random_state=model.seed_).fit(positives.data)
        except ValueError as error:
            return None, f"RCQ cannot learn from these positives: {error}"
    if model._too_few_positives(model._region_rule()):
        return None, "no region holds a fair share of the positives: give more."
    return model, ""


def _part(rows: Rows, seed: int, name: str) -> np.ndarray:
    if len(rows) > MOST_ROWS:
        chosen = stream(seed, f"diagnose {name}").choice(len(rows), MOST_ROWS, replace=False)
        rows = Rows(rows.data[np.sort(chosen)], rows.names, rows.accepts)
    return np.asarray(rows.whole(), np.float64)
