"""TRCQ, region counting with cuts that are also learned from the sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from poscount.base import constraints
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.checks import Evidence, batch_warnings
from poscount.data.rows import InputSupport, Rows
from poscount.methods.pu.bbe import best_bin
from poscount.methods.pu.dedpul import estimate_from_scores
from poscount.methods.pu.training_rows import TrainingRows
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.regions.estimate import estimate_part
from poscount.methods.regions.features import FEATURE_NAMES
from poscount.methods.regions.layout import LEARNED_QUANTILES
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.part import RegionPart, distinct_rows
from poscount.methods.regions.rule import RegionCounts, RegionRule
from poscount.methods.regions.view import PartView
from poscount.results.estimates import Estimates
from poscount.seeds import stream
from poscount.storage.schema import Field, OrNone, Part, require, same_learned
from poscount.threads import one_blas_thread

__all__ = ["TRCQ"]

# With the weights below, 100 trees are no better than 40, but take twice as long in all.
N_TREES = 40
EXPONENT = 3
# Of the weights of the classifiers. Tuning tasks (109 samples): mean error 6.2 with equal weights,
# 5.6 with an exponent of 2, 5.5 with 4 and 8, 5.7 with the better classifier alone.
SKILL_EXPONENT = 8
SMALLEST_SKILL = 1e-3
# Of the sample; with 1,000 positives and 20 features they take 1.2 s.
MOST_ROWS = 5000
# So many different rows do not share a divisor of their frequencies by chance (1 in 500,000).
FEWEST_DISTINCT = 20


# What TRCQ knows besides RCQ's features.
LEARNED_SCORE = ("learned_high", "learned_ratio", "rcq", "dedpul", "bbe", "skill")
COLUMNS = (*FEATURE_NAMES, *LEARNED_SCORE)


class TRCQ(TransductiveQuantifier):
    """RCQ with regions that also use a classifier trained on the sample, for one hard sample.

    RCQ looks for a sparse region among bands and cuts that it knows beforehand. TRCQ adds cuts
    along a score that is learned from the positives and the sample together: the mean rank, among
    the positives, of the scores of a logistic regression and of extra trees, weighted by how well
    each tells the sample from the positives. Each row is scored by classifiers that were trained on
    no row equal to it (five folds). So TRCQ can follow a boundary between positives and overlapping
    negatives that is not parallel to any feature. It learns anew for each sample, which takes
    tenths of a second instead of milliseconds, and there are no counts that add up.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    calibration : {"experience", "null"}, path or Calibration, default="experience"
        As in `RCQ`; TRCQ's has been learned from tasks of its own.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the classifiers and of all that RCQ draws.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_columns)
        Codes of the positives, in an order of their own.
    calibration_ : Calibration or None
        The calibration, as part of the model; None for "null".
    part_ : RegionPart
        What was learned of the positives: the bands and the other cuts.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    `details` and warnings are those of `RCQ`. The exponent of the calibration is 3 instead of 2.
    Further `details`: `learned_high` and `learned_ratio`, the smallest upper bound along the
    learned score and its ratio; `rcq`, RCQ's prevalence of the same rows by the null calibration;
    `dedpul` and `bbe`, what `DEDPUL` and `BBE` make of the scores of the logistic regression; and
    `skill`, by how much the better classifier beats a guess (area under the ROC curve minus one
    half).

    The order of rows and columns does not change the answer, nor does repeating the whole sample:
    then one copy is used, for the interval as well, because copies say nothing new. Of more than
    5,000 rows, 5,000 are used, and the warning "subsampled" says so.

    Examples
    --------
    Negatives that differ from half of the positives in the sum of two features only:

    >>> import numpy as np
    >>> from poscount import TRCQ
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(400, 2))
    >>> negatives = rng.normal(size=(2000, 2))
    >>> negatives = negatives[negatives.sum(axis=1) > 0][:700]
    >>> sample = np.vstack([rng.normal(size=(300, 2)), negatives])
    >>> 0.3 in TRCQ(random_state=0).fit(positives).quantify(sample).interval
    True
    """

    # RCQ and the standardisation of its rows cope with any size.
    depends_on_squares = False

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "calibration": [str, Calibration],
        "random_state": ["random_state", np.random.Generator],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "calibration_": OrNone(Part("Calibration")),
        "part_": Part("RegionPart"),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless the regions are of the model's own columns and positives."""
        super().check_learned()
        if self.calibration_ is not None:
            self.calibration_.check_for("TRCQ", COLUMNS)
        same = same_learned(self.part_.columns_, self.model_columns)
        require(same, "its regions are of other columns.")
        require(self.part_.n_labeled_ == self.n_labeled_, "its regions are of other positives.")

    def _check_positives(self) -> None:
        columns = self.model_columns
        fits = self.positives_.shape[1] == len(columns.kinds_)
        fits = fits and not np.isinf(self.positives_).any()
        require(fits, "its positives are of other columns.")
        gaps = np.isnan(self.positives_).sum(axis=0)
        require((gaps <= columns.missing_).all(), "positives lack more values than there are.")
        for j in columns.categorical.tolist():
            codes = self.positives_[:, j]
            known = np.isnan(codes) | np.isin(codes, np.arange(columns.n_values(j)))
            require(known.all(), "a positive has no category.")

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        (self.calibration_,) = chosen_calibrations(self.calibration, "TRCQ")
        projected = hasattr(self, "projection_")
        self.part_ = RegionPart().fit_codes(
            self.positives_, self.model_columns, self.seed_, projected=projected
        )
        self.n_labeled_ = self.part_.n_labeled_
        if self.n_labeled_ < len(rows):
            self.positives_ = distinct_rows(self.positives_)
        # As the part orders them, because the learned bin of each is put beside its other bins.
        design = self._design(self.positives_)
        order = CanonicalOrder(design, self.seed_)
        self.positives_ = self.positives_[order.sorted_rows(design)]

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    def _matrix(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows.to_array(), dtype=np.float64, order="C")

    def _matrices(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self.positives_, self._matrix(rows)

    def _design(self, codes: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.model_columns.design(codes))

    def _design_of_classifiers(self, codes: np.ndarray) -> np.ndarray:
        """Numbers, where they are missing, and where rows have another value than all positives."""
        columns = self.model_columns
        design, different = columns.design(codes, gaps=True), columns.constants_.differ(codes)
        return np.ascontiguousarray(
            design if different is None else np.column_stack([design, different])
        )

    def _estimate_marked(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        # No row is marked, because the regions see to them.
        return self._estimate_from(positives, sample, generator)

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        view, n_used = self._view(positives, sample)
        assert view.more_features is not None
        estimates = estimate_part(view, self.calibration_, self.confidence, COLUMNS)
        more = dict(zip(LEARNED_SCORE, view.more_features.T, strict=True))
        used = n_used if n_used == MOST_ROWS else len(sample)
        evidence = Evidence(
            1,
            n_labeled=self.n_labeled_,
            n_rows=np.array([len(sample)]),
            n_rows_used=np.array([used]),
        )
        return replace(
            estimates,
            details={**estimates.details, **more},
            warnings=estimates.warnings + batch_warnings(evidence),  # type: ignore[operator]
        )

    def _view(self, positives: np.ndarray, sample: np.ndarray) -> tuple[PartView, int]:
        """A sample in regions that also use a score learned from it; the number of rows used."""
        of_positives = self._design_of_classifiers(positives)
        order = CanonicalOrder(of_positives, self.seed_)
        sample = sample[drop_repetition(self._design_of_classifiers(sample), order)]
        if len(sample) > MOST_ROWS:
            sample = self._subsample(sample)
        of_sample = self._design_of_classifiers(sample)
        scores = self._scores(TrainingRows(of_positives, of_sample, order))
        ranks = [_ranks(*by_one) for by_one in scores]
        in_positives, in_sample = learned_bins(ranks)
        part, plain = self.part_, self.part_.rule
        rule = plain.with_learned_score(in_positives, EXPONENT)
        binned = part.place(sample)
        cells = np.zeros((1, part.n_cells), np.int64)
        with one_blas_thread():
            part.count_into(cells, 0, sample, None, None)
        counts = rule.count_rows(np.column_stack([binned, in_sample]))
        by_logistic = scores[0]
        more = [
            *_of_learned_cuts(rule, counts),
            plain.estimate(plain.count_rows(binned)).prevalence[0],
            estimate_from_scores(*by_logistic).value[0],
            best_bin(*by_logistic).ratio,
            _skill(ranks).max(),
        ]
        view = PartView(part, rule, counts, part.side_counts(cells), np.array([more]))
        return view, len(sample)

    def _features(self, sample: Any) -> np.ndarray:
        """What a calibration looks at, of one sample: `COLUMNS`."""
        rows = self._matrix(self._sample(sample, allow_empty=False))
        return self._view(self.positives_, rows)[0].features

    def _subsample(self, sample: np.ndarray) -> np.ndarray:
        """Rows at equal distances in their own order, from a random one on."""
        first = stream(self.seed_, "subsample").random()
        places = (np.arange(MOST_ROWS) + first) * (len(sample) / MOST_ROWS)
        return sample[places.astype(np.intp)]

    def _scores(self, rows: TrainingRows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Scores of the positives and of the sample by each classifier, the logistic one first."""
        seed = int(stream(self.seed_, "learned score").integers(2**31))
        return [rows.scores(classifier) for classifier in _classifiers(seed)]


def drop_repetition(sample: np.ndarray, order: CanonicalOrder) -> np.ndarray:
    """Rows of the sample in its own order and, if it was repeated as a whole, only once.

    Copies say nothing new, but would make the bounds of the regions narrower. That all rows occur a
    multiple of k times is an accident only where rows have very few values.
    """
    keys = order.keys(sample)
    times = np.unique(keys, return_counts=True)[1]
    n_copies = np.gcd.reduce(times) if len(times) >= FEWEST_DISTINCT else 1
    return np.argsort(keys, kind="stable")[::n_copies]


def learned_bins(ranks: list[list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Bin of each positive and of each row of the sample along the weighted mean of their ranks.

    A classifier that tells the sample better from the positives gets more weight.
    """
    skill = _skill(ranks)
    weights = (skill / skill.max()) ** SKILL_EXPONENT
    of_positives, of_sample = (
        sum(weight * rank for weight, rank in zip(weights, side, strict=True))
        for side in zip(*ranks, strict=True)
    )
    edges = np.quantile(of_positives, LEARNED_QUANTILES)
    in_positives, in_sample = (
        np.searchsorted(edges, rank).astype(np.uint8) for rank in (of_positives, of_sample)
    )
    return in_positives, in_sample


def _ranks(labeled: np.ndarray, unlabeled: np.ndarray) -> list[np.ndarray]:
    """Share of the positives that score less than each row; half of those that score the same."""
    ordered = np.sort(labeled)
    return [
        (np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right"))
        / (2 * len(ordered))
        for x in (labeled, unlabeled)
    ]


def _skill(ranks: list[list[np.ndarray]]) -> np.ndarray:
    """By how much the area under each classifier's ROC curve is above that of a guess."""
    return np.array([0.5 - in_sample.mean() for _, in_sample in ranks]).clip(SMALLEST_SKILL)


def _of_learned_cuts(rule: RegionRule, counts: RegionCounts) -> tuple[float, float]:
    """Smallest upper bound of the regions along the learned score, and its ratio."""
    ratio, _, high = (values[0] for values in rule.bounds(counts))
    n_cuts = rule.layout.cuts.shape[1]
    learned = np.flatnonzero(rule.indices % n_cuts >= n_cuts - len(LEARNED_QUANTILES))
    if not len(learned):
        return math.nan, math.nan
    best = learned[high[learned].argmin()]
    return float(high[best]), float(ratio[best])


def _classifiers(seed: int) -> list[BaseEstimator]:
    from poscount.methods.pu.extra_trees import ExtraTrees  # brings much more than itself

    return [
        LogisticRegression(max_iter=1000),
        ExtraTrees(N_TREES, min_samples_leaf=5, random_state=seed),
    ]
