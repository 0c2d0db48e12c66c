"""Samples from one of the contexts of the positives: one year of several, one site, one sex.

A column that varies among the positives and hardly in a sample says where or when its rows are
from, unless the sample has hardly any positives. Each positive is kept with its bins, so those of
the same context are known: the regions have other shares of these, and the sample is compared with
them. Leaving the column out instead would compare it with positives from everywhere, which differ
in other columns, too (``benchmarks/accuracy/contexts.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.checks import joined_warnings
from poscount.checks.context_column import Context
from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.methods.regions.estimate import estimate_part
from poscount.methods.regions.layout import N_BINS, CutNames
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates

# A column hardly varies if so many rows are in one bin, and varies if no more of the positives are.
NEARLY_ALL, MOST_POSITIVES = 0.99, 0.9
# Fewer rows may have one value by chance.
FEWEST_ROWS = 20
# By how many standard errors fewer rows are in other bins than the positives would make.
SIGNIFICANT = 2.0

# Partition and bin of each column that hardly varies.
Key = tuple[tuple[int, int], ...]


def estimate_in_context(
    view: PartView,
    cells: np.ndarray,
    calibration: Calibration | None,
    level: float,
    recognisable: bool | None,
) -> Estimates:
    """Estimate prevalences as `estimate_part` does, each sample by the positives of its context.

    Parameters
    ----------
    view : PartView
        Of the samples.
    cells : ndarray of shape (n_samples, n_cells)
        What was counted of them.
    calibration, level, recognisable
        As in `estimate_part`.
    """
    how = calibration, level, recognisable
    part, n_rows = view.part, view.counts.n_rows
    plain = np.ones(len(n_rows), bool)
    found = []
    for key, at, n_outside in _contexts(view, cells):
        alike = _alike(part, key)
        share = float(alike.mean())
        enough = np.count_nonzero(alike) >= FEWEST_POSITIVES
        context = _in_words(part, key, alike, compared=bool(enough))
        used = part.of_some(alike) if enough else part
        of_context = estimate_part(
            used.view(cells[at], n_rows[at], view.tolerance), *how, context=context
        )
        # Without that many positives nothing is compared, and PAT, which looks at the score alone,
        # says how many rows should be elsewhere.
        p = of_context.value if enough else np.minimum(1.0, view.pat[at])
        kept = _too_few(n_outside, p * n_rows[at] * (1 - share))
        if kept.any():
            found.append((of_context, kept, at[kept]))
            plain[at[kept]] = False
    if plain.all():
        return estimate_part(view, *how)
    if plain.any():
        at = np.flatnonzero(plain)
        rest = estimate_part(part.view(cells[at], n_rows[at], view.tolerance), *how)
        found.append((rest, np.ones(len(at), bool), at))
    warnings = [(each.warnings, kept, at) for each, kept, at in found]
    return replace(Estimates.joined(found), warnings=joined_warnings(warnings))  # type: ignore[arg-type]


def _contexts(view: PartView, cells: np.ndarray) -> Iterator[tuple[Key, np.ndarray, np.ndarray]]:
    """Contexts that samples may be from, the samples, and their rows in other bins."""
    part, n_rows = view.part, view.counts.n_rows
    if part.projected_ or not view.rule.enough_positives:
        return
    layout, tables = part.layout, part.tables(cells).sum(axis=1)
    rows = np.minimum(1.0, view.pat) * n_rows
    keys: list[list[tuple[int, int]]] = [[] for _ in n_rows]
    outside = np.zeros(len(n_rows))
    for j in range(layout.n_features + len(layout.categories)):
        start, width = layout.offsets[j], layout.widths[j]
        in_bins = tables[:, start : start + width]
        fullest = in_bins.argmax(axis=1)
        shares = np.bincount(part.binned_[:, 1 + j], minlength=width)[:width] / part.n_labeled_
        others = n_rows - in_bins.max(axis=1)
        maybe = (others <= (1 - NEARLY_ALL) * n_rows) & (n_rows >= FEWEST_ROWS)
        maybe &= (shares[fullest] <= MOST_POSITIVES) & (shares[fullest] > 0)
        maybe &= _too_few(others, rows * (1 - shares[fullest]))
        if j < layout.n_features and maybe.any():
            # Negatives that are all at one end of a number are usually beyond all positives, too.
            beyond = view.side.ranges.farther[:, part.features_[j], :, 0].sum(axis=-1)
            maybe &= beyond == 0
        for i in np.flatnonzero(maybe).tolist():
            keys[i].append((j, int(fullest[i])))
            outside[i] = max(outside[i], others[i])
    places: dict[Key, list[int]] = {}
    for i, columns in enumerate(keys):
        if columns:
            places.setdefault(tuple(columns), []).append(i)
    for key, samples in places.items():
        at = np.array(samples)
        yield _feasible(part, key), at, outside[at]


def _too_few(n_outside: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Whether fewer rows are in other bins than positives would make, and not by chance."""
    return n_outside < expected - SIGNIFICANT * np.sqrt(expected)


def _alike(part: RegionPart, key: Key) -> np.ndarray:
    """Which positives are in these bins."""
    columns = [part.binned_[:, 1 + j] == place for j, place in key]
    return np.logical_and.reduce(columns)


def _feasible(part: RegionPart, key: Key) -> Key:
    """The columns of a context, without those that would leave too few positives.

    All of them if any would.
    """
    sizes = [-np.count_nonzero(_alike(part, (column,))) for column in key]
    chosen: Key = ()
    for i in np.argsort(sizes, kind="stable").tolist():
        if np.count_nonzero(_alike(part, (*chosen, key[i]))) >= FEWEST_POSITIVES:
            chosen = (*chosen, key[i])
    return tuple(sorted(chosen)) or key


def _in_words(part: RegionPart, key: Key, alike: np.ndarray, *, compared: bool) -> Context:
    names = part.cut_names
    columns = [*names.numbers, *names.categories]
    return Context(
        [columns[j] for j, _ in key],
        [_value(names, j, place) for j, place in key],
        int(np.count_nonzero(alike)),
        float(alike.mean()),
        compared,
    )


def _value(names: CutNames, j: int, place: int) -> str:
    """What the rows of a bin have in common, in words."""
    n_numbers = len(names.numbers)
    if j >= n_numbers:
        return names.values[j - n_numbers][place]
    if place == N_BINS:
        return "missing"
    # There is no edge where there is no gap between values.
    low, high = np.concatenate([[-np.inf], names.thresholds[j], [np.inf]])[place : place + 2]
    if low == -np.inf:
        return f"up to {high:.6g}"
    return f"above {low:.6g}" if high == np.inf else f"between {low:.6g} and {high:.6g}"
