"""RCQ's counts written for reading: one row at a time, one cell at a time."""

import math

import numpy as np

from poscount.methods.regions.layout import (
    CLUSTERINGS,
    N_BINS,
    N_SCORE_CELLS,
    SCORE_QUANTILES,
)
from poscount.methods.regions.ranges import N_COLUMNS

# PAT's quantiles, and the two that are below them; quantiles at which score cells begin.
EDGES = [0.05, 0.1, *(q / 100 for q in range(25, 76))]


def cells_of(model, codes, score, nearness):
    """Cells in which a row counts.

    `codes` are those of the row's table, `nearness` the values whose largest tells the cluster.
    """
    layout, columns = model.part_.layout, model.model_columns
    in_regions, pat_end, far_end, range_end = model.part_._ends
    above = sum(score > edge for edge in model.part_.edges_)
    score_cell = sum(any(math.isclose(q, s) for s in SCORE_QUANTILES) for q in EDGES[:above])
    assert 0 <= score_cell < N_SCORE_CELLS
    numbers, words = columns.numbers.tolist(), columns.categorical.tolist()

    bins = []
    for i, j in enumerate(numbers[k] for k in model.part_.features_):
        if math.isnan(codes[j]):
            bins.append(N_BINS if i in layout.gapped else None)
        else:
            bins.append(sum(codes[j] > cut for cut in model.part_.cuts_[i]))
    for j in model.part_.categories_.tolist():
        values = columns.bins(j)
        if math.isnan(codes[j]):
            bins.append(values.index("missing") if columns.missing_[j] else None)
        else:
            known = int(codes[j]) < columns.n_values(j)
            bins.append(int(codes[j]) if known else None)
    first = 0
    for k in CLUSTERINGS:
        bins.append(int(np.argmax(nearness[first : first + k])))
        first += k

    cells = [
        score_cell * layout.n_columns + int(offset) + bin_
        for offset, bin_ in zip(layout.offsets, bins, strict=True)
        if bin_ is not None
    ]
    cells.append(in_regions + max(above - 2, 0))
    cells += [pat_end + i for i, limit in enumerate(model.part_.far_scores_) if score < limit]
    for i, j in enumerate(numbers):
        below, beyond = model.part_.range_limits_[i, :4], model.part_.range_limits_[i, 4:]
        found = [k for k in range(4) if codes[j] < below[k]]
        found += [4 + k for k in range(4) if codes[j] > beyond[k]]
        found += [8] * int(codes[j] == 0)
        cells += [far_end + i * N_COLUMNS + k for k in found]
    missing = [j for j, code in enumerate(codes) if math.isnan(code)]
    cells += [range_end + j for j in missing]
    cells += [range_end + len(codes)] * bool(missing)
    unseen = [i for i, j in enumerate(words) if codes[j] == columns.unseen(j)]
    return cells + [range_end + len(codes) + 1 + i for i in unseen]


def count(model, codes, groups, weights, n_groups):
    """Counts of the codes of rows, of shape (n_groups, n_cells)."""
    design = model.model_columns.design(codes)
    scores = model.part_.scorer_.score_samples(design)
    nearness = (
        design - model.part_.scorer_.location_
    ) @ model.part_.directions_ - model.part_.offsets_
    counted = np.zeros((n_groups, model.part_.n_cells), np.int64)
    for i in range(len(codes)):
        for cell in cells_of(model, codes[i], scores[i], nearness[i]):
            counted[groups[i], cell] += weights[i]
    return counted
