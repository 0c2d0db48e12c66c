"""Figures of single answers: fitting and quantifying with RCQ and ExTIcE, and wide tables."""

from __future__ import annotations

import functools
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.watch import Figure, Pair

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))


def small_task() -> tuple[np.ndarray, np.ndarray]:
    """500 positives, and a sample of 2,000 rows of which half are positive, of 20 features."""
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(500, 20)), rng.normal(size=(2000, 20))
    sample[1000:] += 1
    return positives, sample


def fit_beside_pat() -> Pair:
    """RCQ's fit and PAT's."""
    from poscount import PAT, RCQ

    positives, _ = small_task()
    return Pair(
        lambda: PAT(random_state=0).fit(positives), lambda: RCQ(random_state=0).fit(positives)
    )


def quantify_beside_pat() -> Pair:
    """RCQ's answer and PAT's, by models that are fitted."""
    from poscount import PAT, RCQ

    positives, sample = small_task()
    pat, rcq = (kind(random_state=0).fit(positives) for kind in (PAT, RCQ))
    return Pair(lambda: pat.quantify(sample), lambda: rcq.quantify(sample))


def fit_beside_boosting() -> Pair:
    """RCQ's fit with 5,000 unlabeled rows, and one of its five fits of boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from poscount import RCQ

    rng = np.random.default_rng(0)
    positives, unlabeled = rng.normal(size=(500, 20)), rng.normal(size=(5000, 20)) + 0.3
    rows, labels = np.vstack([positives, unlabeled]), np.arange(5500) < 500
    trees = HistGradientBoostingClassifier(max_iter=60, max_depth=4, early_stopping=False)
    model = RCQ(random_state=0)
    return Pair(lambda: trees.fit(rows, labels), lambda: model.fit(positives, unlabeled=unlabeled))


def quantify_with_learned_score() -> Pair:
    """RCQ's answer with a learned score, and without."""
    from poscount import RCQ

    positives, sample = small_task()
    plain = RCQ(random_state=0).fit(positives)
    learned = RCQ(random_state=0).fit(positives, unlabeled=sample)
    return Pair(lambda: plain.quantify(sample), lambda: learned.quantify(sample))


def count_with_learned_score() -> Pair:
    """A million rows counted with a learned score, and without."""
    from poscount import RCQ

    rng = np.random.default_rng(0)
    positives, rows = rng.normal(size=(500, 20)), rng.normal(size=(10**6, 20))
    plain = RCQ(random_state=0).fit(positives)
    learned = RCQ(random_state=0).fit(positives, unlabeled=rows[:5000] + 0.3)
    return Pair(lambda: plain.count(rows), lambda: learned.count(rows))


def beside_numpy(method: str) -> Pair:
    """TIcE or ExTIcE compiled, and in numpy, on 2,000 rows of 8 features like HTRU2's."""
    from unittest.mock import patch

    from poscount import registry
    from poscount.methods.pu import tice_search

    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(8, 8))
    positives = rng.normal(size=(330, 8)) @ mixing
    sample = np.vstack([rng.normal(size=(600, 8)), rng.normal(size=(1400, 8)) + 1]) @ mixing
    model = registry.method(method)(random_state=0).fit(positives)

    def in_numpy() -> None:
        with patch.object(tice_search, "can_compile", lambda: False):
            model.quantify(sample)

    return Pair(in_numpy, lambda: model.quantify(sample))


def wide(n_features: int) -> Pair:
    """RCQ fitted and asked, 200 rows each, and the product of the rows with each other."""
    from poscount import RCQ

    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(200, n_features)), rng.normal(size=(200, n_features))
    return Pair(
        lambda: positives @ sample.T,
        lambda: RCQ(random_state=0).fit(positives).quantify(sample),
    )


FIGURES = [
    Figure(
        "fit rcq / fit pat, 500 x 20",
        fit_beside_pat,
        clock=time.process_time,
    ),
    Figure(
        "quantify rcq / quantify pat, 2,000 x 20",
        quantify_beside_pat,
        clock=time.process_time,
    ),
    Figure(
        "fit rcq, 5,000 unlabeled rows / boosted trees of scikit-learn",
        fit_beside_boosting,
        value_at_most=1.5,
        clock=time.process_time,
    ),
    Figure(
        "quantify rcq with a learned score / without, 2,000 x 20",
        quantify_with_learned_score,
        value_at_most=0.008,
        clock=time.process_time,
    ),
    Figure(
        "count rcq with a learned score / without, 10^6 x 20",
        count_with_learned_score,
        value_at_most=1.5,
        clock=time.process_time,
    ),
    *(
        Figure(
            f"quantify {method} / in numpy, 2,000 x 8",
            functools.partial(beside_numpy, method),
            ratio_at_most=most,
            turns=5,
            clock=time.process_time,
        )
        for method, most in (("extice", 1 / 10), ("tice", None))
    ),
    Figure(
        "fit and quantify rcq / product, 200 x 2,000",
        functools.partial(wide, 2000),
        value_at_most=2.0,
        clock=time.process_time,
    ),
]
