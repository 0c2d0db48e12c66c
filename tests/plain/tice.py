"""TIcE and ExTIcE for numbers: a recursion over row masks, for fewer regions than their limit.

Without the limit of 500 regions, the order in which they are searched does not matter. Where two
features are equally promising, chance decides, and there are several answers.
"""

import math
from itertools import product

import numpy as np


def best_bounds(rows, labeled, in_tree, c, exhaustive):
    """All possible results of one search: the best bound of its regions."""
    n_tree, n_estimate = in_tree.sum(), (~in_tree).sum()
    delta = max(0.025, 1 / (1 + 0.004 * n_estimate))
    limit = min(1000, math.floor(0.5 + 0.1 * min(n_tree, n_estimate)))
    if exhaustive:
        limit = max(30, limit)

    def bound(region):
        chance = math.sqrt(c * (1 - c) * (1 - delta) / (delta * region.sum()))
        return labeled[region].mean() - chance

    def promise(half):
        return labeled[half & in_tree].sum() / (5 + (half & in_tree).sum())

    def search(region):
        if exhaustive and bound(region & in_tree) <= 0:
            return {-math.inf}
        own = bound(region & ~in_tree)
        features = []
        for column in rows.T:
            below = column <= np.median(column[region & in_tree])
            features.append((region & below, region & ~below))
        if exhaustive:
            choices = [[half for pair in features for half in pair]]
        else:
            most = max(promise(half) for pair in features for half in pair)
            choices = [pair for pair in features if max(map(promise, pair)) == most]
        found = set()
        for halves in choices:
            large = [h for h in halves if min((h & in_tree).sum(), (h & ~in_tree).sum()) > limit]
            found |= {max((own, *bests)) for bests in product(*map(search, large))}
        return found

    whole = labeled[~in_tree].mean()
    return {max(whole, best) for best in search(np.ones(len(rows), bool))}
