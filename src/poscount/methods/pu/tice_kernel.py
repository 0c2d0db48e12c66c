"""The loops of the search of TIcE and ExTIcE, compiled by numba; numpy gives the same answers.

Weights are counts of rows and of labelled rows in one integer: a row weighs 1, a labelled row
1 + 2^32, and sums of weights hold both sums.
"""

from __future__ import annotations

import math

import numpy as np

MAX_POPS = 500
LABELED = 1 << 32
ROWS = LABELED - 1
NO_ROOM = -2


def search(
    values: np.ndarray,
    n_codes: np.ndarray,
    offsets: np.ndarray,
    places: np.ndarray,
    ordered: np.ndarray,
    tied: np.ndarray,
    weights: np.ndarray,
    variance: float,
    limit: int,
    exhaustive: int,
    noise: np.ndarray,
    shift: int,
    rows: np.ndarray,
    keys: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    entries: np.ndarray,
    heap: np.ndarray,
    regions: np.ndarray,
    active: np.ndarray,
    marks: np.ndarray,
    coarse: np.ndarray,
    codes: np.ndarray,
    edges: np.ndarray,
) -> int:
    """Search one fold best first; returns how many regions were popped, or NO_ROOM.

    An entry of the queue is the rows of a parent region with low < value <= high in one feature.
    `entries` holds (parent region, feature, weight in the tree part) of everything queued,
    `regions` (entry, first row, weight in the tree part, weight in the estimation part) of what
    was popped. Region 0 and entry 0, its own parent, are the root, filled in by the caller.
    `edges` are those of a feature's children: -inf, the median, inf for numbers, in its second
    row -1/2, 1/2, 3/2, ... for categories.

    `places` is a row's place in the sorted column of its own fold, or its category; `ordered` are
    the sorted columns of the tree part. The median of a feature needs no sort: every row of the
    region puts its weight on its place, and the sum over 64 places into `coarse`; the median is
    where the running sum reaches one half.
    """
    n_features = len(n_codes)
    n_tree = regions[0, 2] & ROWS
    used = n_tree + (regions[0, 3] & ROWS)
    heap[0] = 0
    n_heap = 1
    n_entries = 1
    pops = 0
    while n_heap > 0 and pops < len(regions):
        entry = heap[0]
        if exhaustive and keys[entry] <= 0:
            break
        n_heap -= 1
        last = heap[n_heap]
        i = 0
        j = 1
        while j < n_heap:
            if j + 1 < n_heap and keys[heap[j + 1]] > keys[heap[j]]:
                j += 1
            if keys[heap[j]] <= keys[last]:
                break
            heap[i] = heap[j]
            i = j
            j = 2 * i + 1
        heap[i] = last

        parent = entries[entry, 0]
        if entry > 0:
            f = entries[entry, 1]
            weight = -entries[entry, 2]
            low = lows[entry]
            high = highs[entry]
            first = regions[parent, 1]
            stop = first + ((regions[parent, 2] + regions[parent, 3]) & ROWS)
            if used + stop - first >= len(rows):
                return NO_ROOM
            to = used
            column = values[f]
            above = rows[first:stop]
            for i in range(stop - first):
                row = above[i]
                value = column[row]
                # No branch, because no processor could predict it.
                inside = (low < value) & (value <= high)
                rows[to] = row
                to += inside
                weight += inside * weights[row]
            if weight & ROWS <= limit:
                # Too small in the estimation part: it would not have been queued.
                continue
            regions[pops, 0] = entry
            regions[pops, 1] = used
            regions[pops, 2] = entries[entry, 2]
            regions[pops, 3] = weight
            used = to
        start = regions[pops, 1]
        weight = regions[pops, 2]
        size = weight & ROWS
        end = start + size
        middle = (size - 1) >> 1
        inside_tree = rows[start:end]
        first = n_entries
        stop = n_entries
        chosen = -1.0
        for f in range(n_features):
            # Without ties both halves are half as large: too small to be queued?
            halves_too_small = exhaustive and not tied[f] and size <= 2 * limit
            active[pops, f] = active[parent, f]
            if active[parent, f] == 0 or halves_too_small:
                continue
            kind = 1
            if n_codes[f]:
                for j in range(len(codes)):
                    codes[j] = 0
                for i in range(start, end):
                    row = rows[i]
                    codes[places[f, row]] += weights[row]
            else:
                kind = 0
                for j in range(len(coarse)):
                    coarse[j] = 0
                spots = places[f]
                for i in range(size):
                    row = inside_tree[i]
                    spot = spots[row]
                    marks[spot] = weights[row]
                    coarse[spot >> 6] += weights[row]
                total = 0
                j = 0
                while (total + coarse[j]) & ROWS <= middle:
                    total += coarse[j]
                    j += 1
                place = j << 6
                total += marks[place]
                while total & ROWS <= middle:
                    place += 1
                    total += marks[place]
                cut = ordered[f, place]
                place += 1
                if size & 1 == 0:
                    j = place
                    while marks[j] == 0:
                        j += 1
                    # Halved before they are added, so that nothing overflows.
                    half = 0.5 * cut + 0.5 * ordered[f, j]
                    if half > cut:
                        cut = half
                while place < n_tree and ordered[f, place] <= cut:
                    total += marks[place]
                    place += 1
                edges[0, 1] = cut
                codes[0] = total
                codes[1] = weight - total
                for i in range(size):
                    marks[spots[inside_tree[i]]] = 0
            splits = True
            promise = 0.0
            new = n_entries
            place = pops * offsets[n_features] + offsets[f] + shift
            for j in range(offsets[f + 1] - offsets[f] - 1):
                part = codes[j] & ROWS
                labeled = codes[j] >> 32
                if part == size:
                    splits = False
                share = labeled / (5 + part)
                if share > promise:
                    promise = share
                if part > limit:
                    entries[new, 0] = pops
                    entries[new, 1] = f
                    entries[new, 2] = codes[j]
                    lows[new] = edges[kind, j]
                    highs[new] = edges[kind, j + 1]
                    keys[new] = labeled / part - math.sqrt(variance / part) - noise[place + 1 + j]
                    new += 1
            promise -= noise[place]
            if splits:
                if exhaustive:
                    stop = new
                elif promise > chosen:
                    # Only the most promising feature's children are queued.
                    chosen = promise
                    first = n_entries
                    stop = new
                n_entries = new
            else:
                active[pops, f] = 0
        for entry in range(first, stop):
            i = n_heap
            j = (i - 1) >> 1
            while i > 0 and keys[entry] > keys[heap[j]]:
                heap[i] = heap[j]
                i = j
                j = (i - 1) >> 1
            heap[i] = entry
            n_heap += 1
        pops += 1
    return pops


SIGNATURE = (
    "int64(float64[:, ::1], int64[::1], int64[::1], uint32[:, ::1], float64[:, ::1],"
    "boolean[::1], int64[::1], float64, int64, int64, float64[::1], int64, uint32[::1],"
    "float64[::1], float64[::1], float64[::1], int64[:, ::1], int64[::1], int64[:, ::1],"
    "int64[:, ::1], int64[::1], int64[::1], int64[::1], float64[:, ::1])"
)
INTEGERS = (
    "n_features n_tree used n_heap n_entries pops entry last i j parent weight first stop to "
    "start size end middle total place new part labeled kind"
)
