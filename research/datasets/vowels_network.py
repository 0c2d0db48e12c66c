"""A stand-in for the paper's data set B: rows drawn from a network learned from Japanese Vowels.

B (OpenML 1214) was drawn from a Bayesian network that WEKA had learned from Japanese Vowels, and
cannot always be fetched. Here such a network is learned again, so that rows are without limit. Its
speakers overlap far more than those of Japanese Vowels do, because most dependences between the
features are lost: some speakers look like a part of speaker 1.

The network, chosen on Experiment #1 alone (`docs/reproduction/vowels-network.md`): ten bins of
equal width for each feature; the speaker is a parent of every feature, and so is one other feature,
along the tree with the most mutual information given the speaker (Friedman, Geiger and Goldszmidt,
"Bayesian Network Classifiers", 1997); its tables are counts of rows plus 0.5. A value is uniform in
its bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from poscount.seeds import RandomState, seed_of, stream
from research.datasets.catalog import CATALOG
from research.datasets.dataset import Content, DataSet
from research.datasets.directory import data_directory, read_stored

NAME = "vowels-network"
_ENTRY = CATALOG[NAME]
_N_BINS = 10
_PRIOR = 0.5


def sample_vowels_network(n_rows: int = _ENTRY.rows, random_state: RandomState = 0) -> DataSet:
    """Draw rows from the network; Japanese Vowels must be in the data directory.

    Parameters
    ----------
    n_rows : int
        As many as you like; one in nine is of speaker 1, who must occur.
    random_state : int, Generator, RandomState or None
        Seed; the data set `vowels-network` has 120,000 rows and the seed 0.

    Returns
    -------
    DataSet
        Twelve features; the class is the speaker, of whom "1" is positive.

    Raises
    ------
    InputError
        Japanese Vowels is missing or damaged.
    """
    content = generate(n_rows, random_state)
    return content.data_set(NAME, _ENTRY.title, _ENTRY.positive, (), NAME)


def generate(n_rows: int = _ENTRY.rows, random_state: RandomState = 0) -> Content:
    """Learn the network and draw rows, before a positive class is chosen."""
    base = read_stored(CATALOG["vowels"], data_directory())
    return learn(base).draw(n_rows, stream(seed_of(random_state), NAME))


class Node(NamedTuple):
    """A feature of the network.

    Attributes
    ----------
    feature : int
        Its column.
    parent : int or None
        The column of its parent besides the class; None for the root of the tree.
    edges : ndarray
        Edges of its bins.
    shares : ndarray of shape (n_classes, n_bins of the parent or 1, n_bins)
        Probability of each bin, given the class and the parent's bin.
    """

    feature: int
    parent: int | None
    edges: np.ndarray
    shares: np.ndarray


class Network(NamedTuple):
    """A Bayesian network of a class and features; parents come before their children in `nodes`."""

    feature_names: tuple[str, ...]
    classes: np.ndarray
    class_shares: np.ndarray
    nodes: tuple[Node, ...]

    def draw(self, n_rows: int, rng: np.random.Generator) -> Content:
        """Draw independent rows."""
        labels = rng.choice(len(self.classes), n_rows, p=self.class_shares)
        features = np.empty((n_rows, len(self.nodes)))
        bins: dict[int | None, np.ndarray] = {None: np.zeros(n_rows, dtype=int)}
        for node in self.nodes:
            # The last cumulated share is 1 up to rounding, so that no row can be above it.
            cumulated = node.shares.cumsum(axis=2)[labels, bins[node.parent], :-1]
            drawn = (rng.random((n_rows, 1)) >= cumulated).sum(axis=1)
            features[:, node.feature] = rng.uniform(node.edges[drawn], node.edges[drawn + 1])
            bins[node.feature] = drawn
        return Content(self.feature_names, features, self.classes[labels])


def learn(content: Content) -> Network:
    """Learn the network of rows with classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 3))
    >>> x[:, 2] += 5 * x[:, 0]
    >>> network = learn(Content(("a", "b", "c"), x, np.repeat(["u", "v"], 500)))
    >>> {node.feature: node.parent for node in network.nodes}[2]
    0
    """
    classes, labels = np.unique(content.labels, return_inverse=True)
    edges = [np.linspace(x.min(), x.max(), _N_BINS + 1) for x in content.features.T]
    bins = [np.searchsorted(e[1:-1], x) for e, x in zip(edges, content.features.T, strict=True)]
    nothing = np.zeros_like(labels)
    nodes = []
    for parent, child in tree_of_arcs(labels, bins):
        counts = _counts(labels, nothing if parent is None else bins[parent], bins[child]) + _PRIOR
        shares = counts / counts.sum(axis=2, keepdims=True)
        nodes.append(Node(child, parent, edges[child], shares))
    shares = np.bincount(labels) / len(labels)
    return Network(content.feature_names, classes, shares, tuple(nodes))


def tree_of_arcs(labels: np.ndarray, bins: Sequence[np.ndarray]) -> list[tuple[int | None, int]]:
    """Arcs of the tree with the most information given the class: (parent, child), root first."""
    information = {
        (i, j): _information(_counts(labels, bins[i], bins[j]))
        for i, j in product(range(len(bins)), repeat=2)
    }
    arcs: list[tuple[int | None, int]] = [(None, 0)]
    outside = set(range(1, len(bins)))
    while outside:
        inside = [child for _, child in arcs]
        arc = max(product(inside, sorted(outside)), key=information.__getitem__)
        arcs.append(arc)
        outside.remove(arc[1])
    return arcs


def _information(counts: np.ndarray) -> float:
    """Mutual information of the second and the third axis, given the first."""
    whole, second, third = (counts.sum(axis=axes, keepdims=True) for axes in [(1, 2), (2,), (1,)])
    seen = counts > 0
    ratio = (counts * whole)[seen] / (second * third)[seen]
    return float((counts[seen] * np.log(ratio)).sum() / counts.sum())


def _counts(labels: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows by class, bin of one feature and bin of another."""
    shape = tuple(int(codes.max()) + 1 for codes in (labels, first, second))
    places = np.ravel_multi_index((labels, first, second), shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
