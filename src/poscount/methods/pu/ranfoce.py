"""RanFocE, a random forest for c estimation."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from poscount.base import constraints
from poscount.methods.pu.tree_search import Nodes, TreeQuantifier, as_nodes, between
from poscount.results.estimates import Estimates, single_estimate
from poscount.results.prevalence import prevalence_from_label_frequency

__all__ = ["RanFocE"]


class RanFocE(TreeQuantifier):
    r"""Random forest for c estimation: the best node of random trees, by the median over trees.

    As for `TIcE`, the labelled share of a region without negatives is c, the share of all
    positives that are labelled. Here regions are the nodes of trees that are split at random:
    a random feature among those that can leave at least

    .. math:: l = \min(1000, \lfloor 0.5 + 0.1\,n_L \rfloor)

    labelled rows on both sides, at a threshold uniform between the l-th smallest and the l-th
    largest labelled value; categories are split into a random one and all others. There is no
    correction for chance: the largest labelled share of all nodes of a tree is its estimate of c,
    the median over the trees is the final c, and
    :math:`\hat p = \min(1, (n_L / c - n_L) / n_U)`.

    Because it is the largest of many shares, c is overestimated by chance, and the prevalence is
    too low: by about 8 to 14 points on the paper's data sets, and more where it is higher.

    Degenerate samples: a sample equal to the positives, or one whose features do not vary, gives 1,
    and one far from all positives gives 0. With a single positive nothing can be split, and the
    answer is 1. With one row in the sample the answer is meaningless.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    random_state : int, RandomState, Generator or None
        Seed of the trees.

    See Also
    --------
    poscount.TIcE : A tree that is not random.
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    The `details` of an answer hold `label_frequency` (the median over the trees), `trees` (the
    estimate of each tree) and `region` (the best `Region` of the tree in the middle).

    Text, booleans and frame columns of a categorical type are split by category; a category that
    no positive has counts as one more category.

    References
    ----------
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data", appendix.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import RanFocE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> RanFocE(random_state=0).fit(positives).quantify(sample)
    Prevalence(0.237, n=1000, RanFocE)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **TreeQuantifier._parameter_constraints,
        "n_trees": [constraints.Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_trees: int = 100, *, random_state: Any = None) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        # With fewer than five positives this would be 0, which every split satisfies.
        least = max(1, min(1000, math.floor(0.5 + 0.1 * len(positives))))
        n_codes = self._n_codes(positives, sample)
        trees = random_trees(positives, sample, n_codes, least, self.n_trees, generator)
        shares = [tree.labeled / tree.size for tree in trees]
        estimates = np.array([share.max() for share in shares])
        middle = int(np.argsort(estimates, kind="stable")[(len(trees) - 1) // 2])
        c = float(np.median(estimates))
        details = {
            "label_frequency": c,
            "trees": estimates,
            "region": self._region(trees[middle], int(shares[middle].argmax())),
        }
        value = prevalence_from_label_frequency(c, len(positives), len(sample))
        return single_estimate(value, details)


def random_trees(
    positives: np.ndarray,
    sample: np.ndarray,
    n_codes: np.ndarray,
    least: int,
    n_trees: int,
    generator: np.random.Generator,
) -> list[Nodes]:
    """Grow trees whose splits are random but leave `least` labelled rows on both sides."""
    sides = [np.ascontiguousarray(rows.T) for rows in (positives, sample)]
    # Leaves hold at least `least` labelled rows each. A node needs one random number for each
    # feature, to choose among them, and one to split.
    shape = (2 * max(1, len(positives) // least) - 1, len(n_codes) + 1)
    return [
        _grow(sides, n_codes, least, generator.integers(2**31, size=shape).tolist())
        for _ in range(n_trees)
    ]


def _grow(
    sides: list[np.ndarray], n_codes: np.ndarray, least: int, draws: list[list[int]]
) -> Nodes:
    """Grow one random tree of labelled and unlabeled rows, each of shape (n_features, n_rows)."""
    features = list(range(len(n_codes)))
    n_labeled, n_unlabeled = (side.shape[1] for side in sides)
    nodes = [(-1, -1, True, -math.inf, math.inf, n_labeled + n_unlabeled, n_labeled)]
    # Rows of both sides in the nodes that are large enough to be split.
    waiting = [(0, [np.arange(n_labeled), np.arange(n_unlabeled)])]
    for node, rows in waiting:
        split = _random_split(sides[0], rows[0], n_codes, least, features, draws[node])
        if split is None:
            continue
        f, low, high = split
        inside = [between(s[f].take(r), low, high) for s, r in zip(sides, rows, strict=True)]
        for kept in (inside, [~part for part in inside]):
            n_labeled, n_unlabeled = (int(np.count_nonzero(part)) for part in kept)
            if n_labeled >= 2 * least:
                # By places, which is faster than by a random mask.
                places = map(np.flatnonzero, kept)
                children = [r.take(at) for r, at in zip(rows, places, strict=True)]
                waiting.append((len(nodes), children))
            size = n_labeled + n_unlabeled
            nodes.append((node, f, kept is inside, low, high, size, n_labeled))
    return as_nodes(nodes)


def _random_split(
    values: np.ndarray,
    labeled: np.ndarray,
    n_codes: np.ndarray,
    least: int,
    features: list[int],
    draws: list[int],
) -> tuple[int, float, float] | None:
    """Feature and ends of a random condition; None if no feature can be split."""
    n = len(labeled)
    # Draw features without putting them back, until one can be split.
    for left in range(len(features), 0, -1):
        i = (draws[left] * left) >> 31
        features[i], features[left - 1] = features[left - 1], features[i]
        f = features[left - 1]
        column = values[f].take(labeled)
        if n_codes[f]:
            count = np.bincount(column.astype(np.int64), minlength=n_codes[f])
            codes = np.flatnonzero((count >= least) & (count <= n - least))
            if len(codes):
                code = float(codes[(draws[0] * len(codes)) >> 31])
                return f, code - 0.5, code + 0.5
        else:
            # For few values, this is faster than a partition.
            column = np.sort(column)
            low, high = float(column[least - 1]), float(column[n - least])
            if low < high:
                share = draws[0] / 2147483648.0
                # As a weighted mean, so that nothing overflows.
                cut = (1.0 - share) * low + share * high
                return f, -math.inf, cut if low < cut < high else low
    return None
