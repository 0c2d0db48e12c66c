"""RCQ written for reading: every region is a mask over rows, every count a sum over a mask."""

import math

import numpy as np

from poscount import Mahalanobis
from poscount.data.rows import InputSupport, Rows
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.partition import k_means
from poscount.methods.regions.rule import _redraw
from poscount.scorers import fit_scorer
from poscount.seeds import stream

BANDS = [(0.0, 1.0)] + [(q, 1.0) for q in (0.1, 0.25, 0.4, 0.5, 0.6, 0.75)] + [(0.05, 0.5)]


def in_own_order(positives, sample, seed):
    """Data that RCQ does not reorder, for comparisons with what has no order of its own."""
    order = CanonicalOrder(positives, seed)
    return positives[order.sorted_rows(positives)][:, order.columns], sample[:, order.columns]


def threshold(column, q):
    """Midway between the largest value at or below the quantile and the next larger one."""
    values = sorted({round(x, 6) for x in column})
    ordered = sorted(round(x, 6) for x in column)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    quantile = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    i = max(j for j in range(len(values)) if values[j] <= quantile + 1e-12)
    while i + 1 < len(values):
        if values[i + 1] - values[i] > 1e-5:
            return (values[i] + values[i + 1]) / 2
        i += 1
    return math.inf


def cut_masks(positives, rows, seed):
    """One mask over `rows` for every cut; all cuts are learned from `positives`."""
    mean, sd = positives.mean(axis=0), positives.std(axis=0)
    varies = [j for j in range(positives.shape[1]) if sd[j] > 0]
    z = (positives[:, varies] - mean[varies]) / sd[varies]
    new = (rows[:, varies] - mean[varies]) / sd[varies]
    masks = [np.ones(len(rows), bool)]
    thresholds = [[threshold(column, q) for q in (0.2, 0.4, 0.6, 0.8)] for column in z.T]
    masks += [new[:, j] <= t for j, ts in enumerate(thresholds) for t in ts]
    masks += [new[:, j] > t for j, ts in enumerate(thresholds) for t in ts]
    generator = stream(seed, "clusters")
    nearest = []
    for k in (2, 3, 4):
        points = k_means(z.round(6), k, generator)
        distances = [[((row - point) ** 2).sum() for point in points] for row in new]
        nearest.append((k, np.argmin(distances, axis=1)))
    masks += [cluster == i for k, cluster in nearest for i in range(k)]
    masks += [cluster != i for k, cluster in nearest if k > 2 for i in range(k)]
    return masks


def region_masks(positives, sample, seed):
    """Masks over the positives and over the sample, for every band and every cut."""
    scorer, training = fit_scorer(
        Mahalanobis("ledoit-wolf"), Rows(positives, None, InputSupport()), seed
    )
    scores = scorer.score_samples(sample)
    constant = (positives == positives[0]).all(axis=0)
    other_value = (sample[:, constant] != positives[0, constant]).any(axis=1)
    scores = np.where(other_value, -1e300, scores)
    regions = []
    in_positives = cut_masks(positives, positives, seed)
    in_sample = cut_masks(positives, sample, seed)
    for low, high in BANDS:
        edges = [
            -math.inf if low == 0 else np.quantile(training, low),
            math.inf if high == 1 else np.quantile(training, high),
        ]
        labeled, unlabeled = ((edges[0] < s) & (s <= edges[1]) for s in (training, scores))
        regions += [
            (labeled & a, unlabeled & b) for a, b in zip(in_positives, in_sample, strict=True)
        ]
    return regions


def kept(regions, n_labeled):
    return [
        i for i, (a, _) in enumerate(regions) if 0.08 - 1e-9 <= a.sum() / n_labeled <= 0.9 + 1e-9
    ]


def rule(in_positives, n_labeled, in_sample, n_unlabeled):
    """Weighted ratio, smallest bound, and the region that gives it."""
    k2 = 2 * math.log(len(in_positives))
    uppers = []
    for a, b in zip(in_positives, in_sample, strict=True):
        m = a / n_labeled
        r, h = b / n_unlabeled / m, (1 - m) / m
        A = 1 - k2 * h / n_labeled
        B = 2 * r + k2 * h / n_unlabeled
        if A <= 0.05:
            uppers.append(math.inf)
        else:
            uppers.append((B + math.sqrt(max(B * B - 4 * A * r * r, 0))) / (2 * A))
    u = min(uppers)
    i = uppers.index(u)
    m = in_positives[i] / n_labeled
    sd = math.sqrt((1 - m) / m * (u * u / n_labeled + u / n_unlabeled))
    weights = [math.exp(-(x - u) / (0.7 * sd)) for x in uppers]
    above = sum(w * b for w, b in zip(weights, in_sample, strict=True)) / n_unlabeled
    below = sum(w * a for w, a in zip(weights, in_positives, strict=True)) / n_labeled
    return above / below, u, i


def quantify(positives, sample, seed, exponent=2):
    """Prevalence, smallest bound, and the counts in all regions of the positives and the sample."""
    n_labeled, n_unlabeled = len(positives), len(sample)
    regions = region_masks(positives, sample, seed)
    chosen = [regions[i] for i in kept(regions, n_labeled)]
    in_positives = [int(a.sum()) for a, _ in chosen]
    in_sample = [int(b.sum()) for _, b in chosen]
    e, u, i = rule(in_positives, n_labeled, in_sample, n_unlabeled)
    point = round(2 * math.log2(n_unlabeled))
    n_drawn = round(2 ** (point / 2))
    generator = stream(seed, f"calibration {point}")
    labeled_draws = _redraw(n_labeled, n_labeled, generator)
    sample_draws = _redraw(n_labeled, n_drawn, generator)
    nulls = []
    for one, other in zip(labeled_draws, sample_draws, strict=True):
        drawn = [min(max((one * a).sum(), 0.5), n_labeled - 0.5) for a, _ in chosen]
        e_null, _, _ = rule(drawn, n_labeled, [(other * a).sum() for a, _ in chosen], n_drawn)
        nulls.append(min(e_null, 1.2))
    g = sum(nulls) / len(nulls)
    p = min(1.0, e * (1 + (1 / g - 1) * min(1.0, e / g) ** exponent))
    return p, u, in_positives, in_sample, i
