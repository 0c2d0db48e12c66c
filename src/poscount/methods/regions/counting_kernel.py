"""RCQ's counting as one compiled loop; `counting_numpy` gives the same counts.

It compares, subtracts, and adds integers, so that both agree to the last count.
"""

from __future__ import annotations

import numpy as np

# Rows that are looked at together: what is known of them fits into the fastest cache.
AT_ONCE = 1024
NO_BIN = 255


def count_stack(
    codes: np.ndarray,
    n_rows: int,
    scores: np.ndarray,
    nearness: np.ndarray,
    starts: np.ndarray,
    grouped: int,
    weights: np.ndarray,
    weighted: int,
    complete: int,
    edges: np.ndarray,
    score_cells: np.ndarray,
    pat_cells: np.ndarray,
    far: np.ndarray,
    features: np.ndarray,
    cuts: np.ndarray,
    missing_bins: np.ndarray,
    categories: np.ndarray,
    category_bins: np.ndarray,
    clusterings: np.ndarray,
    distances: np.ndarray,
    offsets: np.ndarray,
    n_columns: int,
    numbers: np.ndarray,
    limits: np.ndarray,
    all_categories: np.ndarray,
    unseen: np.ndarray,
    ends: np.ndarray,
    out: np.ndarray,
    row_edges: np.ndarray,
    at: np.ndarray,
    bins: np.ndarray,
    best: np.ndarray,
    incomplete: np.ndarray,
) -> None:
    """Add the rows of a stack to counts.

    Parameters
    ----------
    codes : ndarray of shape (n_chunks, n_table_columns, size)
    n_rows : int
        Rows of the stack, without its padding.
    scores : ndarray of shape (n_chunks, size)
    nearness : ndarray of shape (n_chunks, n_clusters, size)
        How near each row is to each cluster, before `distances` is subtracted.
    starts, weights : ndarray of int64, shape (n_rows,)
        Where the counts of each row's group start, if the rows are grouped; and what each row
        counts, if they are weighted.
    complete : int
        Whether no code is missing.
    edges, score_cells, pat_cells, far, features, cuts, missing_bins, categories, category_bins, \
clusterings, distances, offsets, n_columns, numbers, limits, all_categories, unseen, ends
        As in `poscount.methods.regions.counting.CountingPlan`.
    out : ndarray of int64
        Counts, which are added to.
    row_edges : ndarray of int64, shape (n_rows,)
        Becomes the number of edges below the score of each row.
    at, bins, best, incomplete : ndarray of shape (AT_ONCE,)
        Work space.
    """
    n_table, size = codes.shape[1], codes.shape[2]
    n_limits = limits.shape[1] >> 1
    n_outside = limits.shape[1] + 1
    for chunk in range(codes.shape[0]):
        n_chunk = min(size, n_rows - chunk * size)
        for begin in range(0, n_chunk, AT_ONCE):
            n = min(AT_ONCE, n_chunk - begin)
            row = chunk * size + begin

            # The cells along the score, by a binary search without branches among 63 edges. An
            # index without a sign saves the question whether it counts from the end.
            values = scores[chunk, begin : begin + n]
            for i in range(n):
                value = values[i]
                k = 32 * (edges[31] < value)
                k += 16 * (edges[np.uint64(k + 15)] < value)
                k += 8 * (edges[np.uint64(k + 7)] < value)
                k += 4 * (edges[np.uint64(k + 3)] < value)
                k += 2 * (edges[np.uint64(k + 1)] < value)
                k += edges[np.uint64(k)] < value
                at[i] = k
            for i in range(n):
                value = values[i]
                k = at[i]
                start = starts[row + i] if grouped else 0
                weight = weights[row + i] if weighted else 1
                row_edges[row + i] = k
                out[start + ends[0] + pat_cells[k]] += weight
                at[i] = start + score_cells[k] * n_columns
                if k == 0:
                    for j in range(len(far)):
                        if value < far[j]:
                            out[start + ends[1] + j] += weight

            # The nearest cluster of each clustering.
            partition = len(features) + len(categories)
            cluster = 0
            for j in range(len(clusterings)):
                offset = offsets[partition + j]
                values = nearness[chunk, cluster, begin : begin + n]
                for i in range(n):
                    bins[i] = 0
                    best[i] = values[i] - distances[cluster]
                for k in range(1, clusterings[j]):
                    values = nearness[chunk, cluster + k, begin : begin + n]
                    for i in range(n):
                        value = values[i] - distances[cluster + k]
                        closer = value > best[i]
                        bins[i] = k if closer else bins[i]
                        # Nothing is nearer than what has overflowed.
                        best[i] = value if closer | (value != value) else best[i]
                for i in range(n):
                    place = np.uint64(at[i] + offset + bins[i])
                    out[place] += weights[row + i] if weighted else 1
                cluster += clusterings[j]

            # The bins of numbers.
            for j in range(len(features)):
                column = features[j]
                offset = offsets[j]
                cut_0 = cuts[j, 0]
                cut_1 = cuts[j, 1]
                cut_2 = cuts[j, 2]
                cut_3 = cuts[j, 3]
                n_gaps = 0
                values = codes[chunk, column, begin : begin + n]
                for i in range(n):
                    value = values[i]
                    k = 0
                    k += value > cut_0
                    k += value > cut_1
                    k += value > cut_2
                    k += value > cut_3
                    bins[i] = k
                    n_gaps += value != value
                if n_gaps:
                    for i in range(n):
                        value = values[i]
                        if value != value:
                            bins[i] = missing_bins[j]
                        if bins[i] != NO_BIN:
                            place = np.uint64(at[i] + offset + bins[i])
                            out[place] += weights[row + i] if weighted else 1
                else:
                    for i in range(n):
                        place = np.uint64(at[i] + offset + bins[i])
                        out[place] += weights[row + i] if weighted else 1

            # The bins of categories.
            for j in range(len(categories)):
                offset = offsets[len(features) + j]
                for i in range(n):
                    value = codes[chunk, categories[j], begin + i]
                    k = category_bins.shape[1] - 1
                    if value == value:
                        k = int(value)
                    nearest = category_bins[j, k]
                    if nearest != NO_BIN:
                        out[at[i] + offset + nearest] += weights[row + i] if weighted else 1

            # Rows outside of the ranges of numbers: most rows are inside, and few are zero.
            for j in range(len(numbers)):
                column = numbers[j]
                offset = ends[2] + j * n_outside
                values = codes[chunk, column, begin : begin + n]
                n_zeros = 0
                n_below = 0
                n_above = 0
                low = limits[j, 0]
                high = limits[j, n_limits]
                for i in range(n):
                    n_zeros += values[i] == 0.0
                    n_below += values[i] < low
                    n_above += values[i] > high
                if n_zeros:
                    for i in range(n):
                        if values[i] == 0.0:
                            start = starts[row + i] if grouped else 0
                            weight = weights[row + i] if weighted else 1
                            out[start + offset + 2 * n_limits] += weight
                for k in range(n_limits):
                    if k:
                        low = limits[j, k]
                        high = limits[j, n_limits + k]
                        n_below = 0
                        n_above = 0
                        for i in range(n):
                            n_below += values[i] < low
                            n_above += values[i] > high
                    if n_below + n_above == 0:
                        break
                    if grouped | weighted:
                        for i in range(n):
                            value = values[i]
                            if value < low or value > high:
                                start = starts[row + i] if grouped else 0
                                weight = weights[row + i] if weighted else 1
                                out[start + offset + k + n_limits * (value > high)] += weight
                    else:
                        out[offset + k] += n_below
                        out[offset + n_limits + k] += n_above

            # What is missing, and words that no positive has.
            any_gaps = 0
            for column in range(0 if complete else n_table):
                n_gaps = 0
                for i in range(n):
                    value = codes[chunk, column, begin + i]
                    n_gaps += value != value
                if n_gaps:
                    if not any_gaps:
                        for i in range(n):
                            incomplete[i] = 0
                    any_gaps = 1
                    for i in range(n):
                        value = codes[chunk, column, begin + i]
                        if value != value:
                            incomplete[i] = 1
                            start = starts[row + i] if grouped else 0
                            weight = weights[row + i] if weighted else 1
                            out[start + ends[3] + column] += weight
            if any_gaps:
                for i in range(n):
                    if incomplete[i]:
                        start = starts[row + i] if grouped else 0
                        weight = weights[row + i] if weighted else 1
                        out[start + ends[3] + n_table] += weight
            for j in range(len(all_categories)):
                for i in range(n):
                    if codes[chunk, all_categories[j], begin + i] == unseen[j]:
                        start = starts[row + i] if grouped else 0
                        weight = weights[row + i] if weighted else 1
                        out[start + ends[3] + n_table + 1 + j] += weight


SIGNATURE = (
    "void(float64[:, :, ::1], int64, float64[:, ::1], float64[:, :, ::1], int64[::1], int64,"
    "int64[::1], int64, int64, float64[::1], int64[::1], int64[::1], float64[::1], int64[::1],"
    "float64[:, ::1], uint8[::1], int64[::1], uint8[:, ::1], int64[::1], float64[::1],"
    "int64[::1], int64,"
    "int64[::1], float64[:, ::1], int64[::1], float64[::1], int64[::1], int64[::1], int64[::1],"
    "int64[::1], int64[::1], float64[::1], uint8[::1])"
)
INTEGERS = (
    "n_table size n_limits n_outside chunk n_chunk begin n row i j k start weight partition "
    "cluster offset nearest column n_gaps n_below n_above n_zeros any_gaps"
)
