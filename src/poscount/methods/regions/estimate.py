"""From what the regions of one part say about samples to prevalences, intervals and warnings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.calibration.doubt import BREAKS, shipped_doubt
from poscount.checks import Evidence, batch_warnings
from poscount.checks.context_column import Context
from poscount.methods.intervals import normal_quantiles
from poscount.methods.regions.doubt_features import DOUBT_FEATURES, doubt_features
from poscount.methods.regions.features import OF_LEARNED_SCORE, OF_TOLERANCE
from poscount.methods.regions.rule import interval_from_gap
from poscount.methods.regions.view import PartView
from poscount.results.distribution import (
    INTERVAL_LEVELS,
    LEVELS,
    LEVELS_ABOVE,
    Distribution,
    quantiles_from_intervals,
)
from poscount.results.estimates import Estimates
from poscount.results.what_if import Code, Reading, WhatIf


def estimate_part(
    view: PartView,
    calibration: Calibration | None,
    level: float,
    recognisable: bool | None,
    *,
    context: Context | None = None,
) -> Estimates:
    """Estimate prevalences by the regions of one part, or by PAT's rule if these are too few.

    Parameters
    ----------
    view : PartView
        Of the samples.
    calibration : Calibration or None
        None for the null calibration.
    level : float
        Of the intervals.
    recognisable : bool or None
        As in `RCQ`.
    context : Context, optional
        Where all samples are from (`poscount.methods.regions.context`).
    """
    if not view.rule.enough_positives:
        return _estimate_by_pat(view, level, bounded_below=calibration is None)
    estimates, evidence = calibrated(view, calibration, level, recognisable)
    if context is not None:
        evidence = evidence.having(context=context)
    if calibration is not None:
        lines = doubt_features(view, estimates, evidence)
        broken = shipped_doubt().probabilities(lines, DOUBT_FEATURES)
        evidence = evidence.having(broken=broken)
    found = view.found

    more: dict[str, Any] = {}
    if calibration is not None:
        more["broken"] = lambda i: dict(zip(BREAKS, broken[i].tolist(), strict=True))
        more["what_if"] = what_if(
            {
                "typical": lambda: calibrated(view, calibration, level, None)[0],
                "both": lambda: calibrated(view, calibration, level, True)[0],
            }
        )
    if view.tolerance > 0:
        more |= dict(zip(OF_TOLERANCE[1:], view.of_tolerance.T[1:], strict=True))
    if view.part.learned_score_ is not None:
        more |= dict(zip(OF_LEARNED_SCORE, view.of_learned_score.T, strict=True))

    return replace(
        estimates,
        details={
            "region": lambda i: view.bounds_of(i, int(found.region[i]))._asdict(),
            "ratio": found.ratio,
            "null_ratio": found.null_ratio,
            "gap": found.gap,
            "uncalibrated": found.prevalence,
            **estimates.details,
            "bound": np.maximum(estimates.value, np.minimum(1.0, found.region_high)),
            "pat": view.pat,
            "core_difference": view.core_difference,
            "disagreement": evidence.disagreement,
            "core_excess": view.core_excess,
            **more,
        },
        warnings=batch_warnings(evidence, view.part.model_results(view.rule)),
    )


def what_if(estimates: Mapping[Code, Callable[[], Estimates]]) -> Callable[[int], WhatIf]:
    """From estimates under some assumptions, made when first asked for, to those of a sample."""
    made = {code: functools.cache(make) for code, make in estimates.items()}

    def read(i: int) -> list[Reading]:
        found = []
        for code, make in made.items():
            said = make()
            assert said.quantiles is not None  # by any calibration
            distribution = Distribution(said.quantiles[i])
            found.append(Reading(code, float(said.value[i]), distribution, said.level))
        return found

    return lambda i: WhatIf(functools.partial(read, i))


def calibrated(
    view: PartView, calibration: Calibration | None, level: float, recognisable: bool | None
) -> tuple[Estimates, Evidence]:
    """Estimates by the regions of one part, and what the checks see; parameters as above."""
    found, gap = view.found, view.found.gap
    estimates = null_estimates(found.prevalence, found.ratio, gap, level)
    unfamiliar, not_recognisable = np.zeros(len(view), bool), np.zeros(len(view))
    if calibration is not None:
        # The null calibration is right wherever one region is free of negatives, which no training
        # rules out; where nothing like the sample was seen in training, intervals reach as low.
        trained, unfamiliar = calibration.estimate(
            view.features, view.feature_names, level, recognisable=recognisable
        )
        estimates = trained.widened_by(estimates, below=unfamiliar)
        if recognisable:
            not_recognisable = 1 - trained.details["p_recognisable"]
    estimates = _raised(estimates, view)
    disagreement = (view.pat - found.prevalence) / np.maximum(gap, np.finfo(float).tiny)
    low, high = estimates.ends
    evidence = view.evidence.having(
        low=low,
        high=high,
        level=level,
        gap=gap,
        core_excess=view.core_excess,
        estimate=estimates.value,
        pat=view.pat,
        region_gap=gap,
        core_difference=view.core_difference,
        core_dof=view.part.core_dof_,
        disagreement=disagreement,
        unlike_training=unfamiliar,
        not_recognisable=not_recognisable,
    )
    return estimates, evidence


def _estimate_by_pat(view: PartView, level: float, *, bounded_below: bool) -> Estimates:
    p = np.minimum(1.0, view.pat)
    quantiles = normal_quantiles(p, view.part.n_labeled_, view.counts.n_rows)
    # So few positives bound the prevalence from above only: with a lower end, intervals held in .65
    # of 382 samples, without in .94 (`benchmarks/calibration.py few-positives`).
    if not bounded_below:
        quantiles = np.where(LEVELS < 0.5, 0.0, quantiles)
    details = {"pat": view.pat, "core_excess": view.core_excess}
    estimates = _raised(Estimates(value=p, quantiles=quantiles, level=level, details=details), view)
    low, high = estimates.ends
    evidence = view.evidence.having(low=low, high=high, level=level, core_excess=view.core_excess)
    of_model = view.part.model_results(view.rule)
    return replace(estimates, warnings=batch_warnings(evidence, of_model))


def _raised(estimates: Estimates, view: PartView) -> Estimates:
    """Estimates that allow for positives unlike all labelled ones in a constant column."""
    assert estimates.quantiles is not None  # by either calibration
    constants, n_labeled = view.part.columns_.constants_, view.part.n_labeled_
    quantiles = constants.raised(estimates.quantiles, n_labeled, LEVELS_ABOVE)
    return replace(estimates, quantiles=quantiles)


def by_calibration(
    calibration: Calibration | None,
    lines: np.ndarray,
    names: Sequence[str],
    null: Estimates,
    recognisable: bool | None,
) -> tuple[Estimates, np.ndarray]:
    """Estimates by a calibration, or the null ones; and which samples are unlike all training."""
    if calibration is None:
        return null, np.zeros(len(null), bool)
    return calibration.estimate(lines, names, null.level, recognisable=recognisable)


def null_estimates(p: np.ndarray, ratio: np.ndarray, gap: np.ndarray, level: float) -> Estimates:
    """Estimates from what chance does to positives alone; without any bound, all is possible."""
    gap = np.nan_to_num(gap, nan=1.0, posinf=1.0)
    ends = interval_from_gap(ratio, p, gap, INTERVAL_LEVELS[:, np.newaxis])
    quantiles = quantiles_from_intervals(p, *ends)
    return Estimates(value=p, quantiles=quantiles, level=level)
