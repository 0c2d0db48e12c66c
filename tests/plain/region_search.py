"""TIcE, ExTIcE and RanFocE written for reading: sets of rows, lists, and the definitions."""

import math

import numpy as np


def bound(size, labeled, c, n_estimate):
    delta = max(0.025, 1 / (1 + 0.004 * n_estimate))
    return labeled / size - math.sqrt(c * (1 - c) * (1 - delta) / delta / size)


def split(column, categorical, tree):
    """Conditions (low, high] that divide the rows of the tree part, or None if they do not."""
    if categorical:
        codes = np.unique(column[tree])
        return [(code - 0.5, code + 0.5) for code in codes] if len(codes) > 1 else None
    median = np.median(column[tree])
    if np.all(column[tree] <= median):
        return None
    return [(-math.inf, median), (median, math.inf)]


def promise(column, labeled, tree, conditions):
    """Labelled / (5 + size) of the better part of a split."""
    shares = []
    for low, high in conditions:
        part = tree & (low < column) & (column <= high)
        shares.append(labeled[part].sum() / (5 + part.sum()))
    return max(shares)


def search(rows, labeled, categorical, tree, c, exhaustive, tie):
    """Best bound found with one tree part, and the regions visited, as (size, labelled).

    `tree` says which rows are the tree part, all others estimate. `tie(i, feature, child)` is a
    tiny random number for the children, or with child None the feature, of the i-th region.
    """
    n_features = rows.shape[1]
    n_tree, n_estimate = tree.sum(), (~tree).sum()
    limit = min(1000, math.floor(0.5 + 0.1 * min(n_tree, n_estimate)))
    if exhaustive:
        limit = max(30, limit)

    best = labeled[~tree].sum() / n_estimate
    visited = []
    if n_tree == 0:
        return best, visited
    everything = np.ones(len(rows), bool)
    score = bound(n_tree, labeled[tree].sum(), c, n_estimate)
    queue = [(score, everything, list(range(n_features)))]
    pops = 0
    while queue and pops < 500:
        i = max(range(len(queue)), key=lambda entry: queue[entry][0])
        score, region, features = queue.pop(i)
        pops += 1
        in_tree, in_estimate = region & tree, region & ~tree
        if in_tree.sum() < limit or in_estimate.sum() < limit:
            continue
        if exhaustive and score <= 0:
            continue
        size, n_labeled = in_estimate.sum(), labeled[in_estimate].sum()
        best = max(best, bound(size, n_labeled, c, n_estimate))
        visited.append((size, n_labeled))

        splits = {f: split(rows[:, f], categorical[f], in_tree) for f in features}
        splits = {f: conditions for f, conditions in splits.items() if conditions is not None}
        features = list(splits)
        order = len(visited) - 1
        if splits and not exhaustive:
            promises = {
                f: promise(rows[:, f], labeled, in_tree, conditions) - tie(order, f, None)
                for f, conditions in splits.items()
            }
            chosen = max(promises, key=promises.get)
            splits = {chosen: splits[chosen]}
        for f, conditions in splits.items():
            for low, high in conditions:
                part = region & (low < rows[:, f]) & (rows[:, f] <= high)
                size, n_labeled = (part & tree).sum(), labeled[part & tree].sum()
                if size > limit and (part & ~tree).sum() > limit:
                    child = int(high) if categorical[f] else int(low > -math.inf)
                    score = bound(size, n_labeled, c, n_estimate) - tie(order, f, child)
                    queue.append((score, part, features))
    return best, visited


def two_passes(rows, labeled, categorical, fold, exhaustive, ties):
    """Label frequency by TIcE or ExTIcE; `ties` gives a tie function for each search in turn."""
    c = 0.5
    for _ in range(2):
        c = np.mean(
            [
                search(rows, labeled, categorical, fold == k, c, exhaustive, next(ties))[0]
                for k in range(5)
            ]
        )
    return c


def random_tree(rows, labeled, categorical, least, rng):
    """Largest labelled share of the nodes of one random tree."""
    best = labeled.mean()
    nodes = [np.arange(len(rows))]
    while nodes:
        node = nodes.pop()
        best = max(best, labeled[node].mean())
        possible = {}
        for f in range(rows.shape[1]):
            values = np.sort(rows[node, f][labeled[node]])
            if categorical[f]:
                codes, counts = np.unique(values, return_counts=True)
                enough = (counts >= least) & (counts <= len(values) - least)
                if enough.any():
                    possible[f] = codes[enough]
            elif len(values) >= 2 * least and values[least - 1] < values[-least]:
                possible[f] = values[least - 1], values[-least]
        if not possible:
            continue
        f = rng.choice(list(possible))
        if categorical[f]:
            left = rows[node, f] == rng.choice(possible[f])
        else:
            left = rows[node, f] <= rng.uniform(*possible[f])
        nodes += [node[left], node[~left]]
    return best


def random_forest(rows, labeled, categorical, n_trees, rng):
    """Label frequency by RanFocE."""
    least = max(1, min(1000, math.floor(0.5 + 0.1 * labeled.sum())))
    trees = [random_tree(rows, labeled, categorical, least, rng) for _ in range(n_trees)]
    return np.median(trees)


def label_frequency(method, positives, sample, seed):
    """Any of the three, on numbers."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([positives, sample])
    labeled = np.arange(len(rows)) < len(positives)
    categorical = [False] * rows.shape[1]
    if method == "ranfoce":
        return random_forest(rows, labeled, categorical, 100, rng)
    fold = np.empty(len(rows), int)
    fold[rng.permutation(len(rows))] = np.arange(len(rows)) % 5

    def ties():
        while True:
            yield lambda *place: 1e-12 * rng.random()

    return two_passes(rows, labeled, categorical, fold, method == "extice", ties())
