"""TRCQ, region counting with cuts that are also learned from the sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from poscount.base import constraints
from poscount.base.quantifier import TABLE_CONSTRAINTS
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibration
from poscount.checks import Evidence, sample_cautions
from poscount.data.columns import Columns
from poscount.data.rows import InputSupport, Rows
from poscount.methods.pu.bbe import best_bin
from poscount.methods.pu.dedpul import estimate_from_scores
from poscount.methods.pu.learning_rows import LearningRows
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.regions.own_order import OwnOrder
from poscount.methods.regions.rcq import RCQ, same_projection
from poscount.methods.regions.region_counter import CountsBeside, distinct_rows
from poscount.methods.regions.region_layout import LEARNED_QUANTILES
from poscount.methods.regions.region_profile import PROFILE
from poscount.methods.regions.regions import RegionCounts, Regions
from poscount.results.prevalence import Estimate
from poscount.results.verdict import Caution
from poscount.seeds import stream
from poscount.storage.schema import Field, OrNone, Part, Whole, require, same_learned

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


# What TRCQ knows besides RCQ's profile.
BESIDE = ("learned_high", "learned_ratio", "rcq", "dedpul", "bbe", "skill")
COLUMNS = (*PROFILE, *BESIDE)


class _Seen(NamedTuple):
    regions: Regions
    counts: RegionCounts
    beside: CountsBeside
    more: np.ndarray
    n_used: int


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
    missing : {"value", "error"}, default="value"
        Whether a missing value is a fact about a row like any other, or an error.
    text : {"category", "error"}, default="category"
        Whether words and booleans are categories, or an error.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the classifiers and of all that RCQ draws.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_columns)
        Codes of the positives, in an order of their own.
    calibration_ : Calibration or None
        The calibration, as part of the model; None for "null".
    rcq_ : RCQ
        The model with the bands and the other cuts.
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
        **TABLE_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "calibration_": OrNone(Part("Calibration")),
        "rcq_": Part("RCQ"),
        "n_given_": Whole(1),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        as_asked = (self.calibration_ is None) == (self.calibration == "null")
        require(as_asked, "its calibration is another one than it was asked for.")
        if self.calibration_ is not None:
            self.calibration_.check_for("TRCQ", COLUMNS)
        same = same_learned(self.rcq_.columns_, self.columns_) and all(
            getattr(self.rcq_, name) == getattr(self, name)
            for name in ("seed_", "n_labeled_", "n_given_")
        )
        plain = self.rcq_.calibration_ is None and self.rcq_.subtypes is None
        projected = same_projection(self, self.rcq_)
        require(same and plain and projected, "its regions are those of another model.")

    def _check_positives(self) -> None:
        columns = self.block_columns
        fits = self.positives_.shape[1] == len(columns.kinds_)
        fits = fits and not np.isinf(self.positives_).any()
        require(fits, "its positives are of other columns.")
        gaps = np.isnan(self.positives_).sum(axis=0)
        require((gaps <= columns.missing_).all(), "positives lack more values than there are.")
        for j in columns.words.tolist():
            codes = self.positives_[:, j]
            known = np.isnan(codes) | np.isin(codes, np.arange(columns.n_values(j)))
            require(known.all(), "a positive has no category.")

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        calibration: str | Calibration = "experience",
        missing: str = "value",
        text: str = "category",
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.calibration = calibration
        self.missing = missing
        self.text = text
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        self.calibration_ = chosen_calibration(self.calibration, "TRCQ")
        rcq = RCQ(confidence=self.confidence, calibration="null", random_state=self.seed_)
        self.rcq_ = rcq.fit_like(self, self.positives_)
        self.n_given_, self.n_labeled_ = len(rows), self.rcq_.n_labeled_
        if self.n_labeled_ < self.n_given_:
            self.positives_ = distinct_rows(self.positives_)
        # As RCQ orders them, because the learned bin of each is put beside its other bins.
        design = self._design(self.positives_)
        order = OwnOrder(design, self.seed_)
        self.positives_ = self.positives_[order.sorted_rows(design)]

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    def _matrix(self, rows: Rows) -> np.ndarray:
        return np.asarray(rows.whole(), dtype=np.float64, order="C")

    def _gap_cautions(self, rows: Rows) -> tuple[Caution, ...]:
        return ()  # the regions have them

    def _design(self, codes: np.ndarray, *, gaps: bool = False) -> np.ndarray:
        return np.ascontiguousarray(self.block_columns.design(codes, gaps=gaps))

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimate:
        seen = self._look(positives, sample)
        estimate = self.rcq_.estimate_in_regions(
            seen.regions, seen.counts, seen.beside, self.calibration_, seen.more, COLUMNS
        )[0]
        details = {**estimate.details, **dict(zip(BESIDE, seen.more[0].tolist(), strict=True))}
        used = seen.n_used if seen.n_used == MOST_ROWS else len(sample)
        evidence = Evidence(n_labeled=self.n_labeled_, n_rows=len(sample), n_rows_used=used)
        warnings = (*estimate.warnings, *sample_cautions(evidence, ()))
        return estimate._replace(details=details, warnings=warnings)

    def _look(self, positives: np.ndarray, sample: np.ndarray) -> _Seen:
        of_positives = self._design(positives, gaps=True)
        order = OwnOrder(of_positives, self.seed_)
        sample = sample[one_copy(self._design(sample, gaps=True), order)]
        if len(sample) > MOST_ROWS:
            sample = self._subsample(sample)
        of_sample = self._design(sample, gaps=True)
        scores = self._scores(LearningRows(of_positives, of_sample, order))
        ranks = [_ranks(*by_one) for by_one in scores]
        in_positives, in_sample = learned_bins(ranks)
        plain = self.rcq_.regions
        regions = plain.with_learned_score(in_positives, EXPONENT)
        binned = self.rcq_.place(sample)
        whole = Rows(
            sample, None, self.rcq_._input_support(), Columns.plain(self.block_columns.names_)
        )
        _, beside = self.rcq_.split_cells(self.rcq_._count(whole, None, 1))
        counts = regions.count_rows(np.column_stack([binned, in_sample]))
        by_logistic = scores[0]
        more = [
            *_of_learned_cuts(regions, counts),
            plain.find(plain.count_rows(binned)).prevalence[0],
            estimate_from_scores(*by_logistic).value,
            best_bin(*by_logistic).ratio,
            _skill(ranks).max(),
        ]
        return _Seen(regions, counts, beside, np.array([more]), len(sample))

    def profile(self, sample: Any) -> np.ndarray:
        """What the regions say about a sample, as one line: what a calibration learns from.

        Returns
        -------
        ndarray of shape (1, len(PROFILE) + len(BESIDE))
            With the columns of `RCQ.profile`, and those of `poscount.methods.pu.trcq.BESIDE`.
        """
        rows = self._matrix(self._sample(sample, allow_empty=False))
        seen = self._look(self.positives_, rows)
        return self.rcq_.profile_in_regions(seen.regions, seen.counts, seen.beside, seen.more)

    def _subsample(self, sample: np.ndarray) -> np.ndarray:
        """Rows at equal distances in their own order, from a random one on."""
        first = stream(self.seed_, "subsample").random()
        places = (np.arange(MOST_ROWS) + first) * (len(sample) / MOST_ROWS)
        return sample[places.astype(np.intp)]

    def _scores(self, rows: LearningRows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Scores of the positives and of the sample by each classifier, the logistic one first."""
        seed = int(stream(self.seed_, "learned score").integers(2**31))
        return [rows.scores(classifier) for classifier in _classifiers(seed)]


def one_copy(sample: np.ndarray, order: OwnOrder) -> np.ndarray:
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


def _of_learned_cuts(regions: Regions, counts: RegionCounts) -> tuple[float, float]:
    """Smallest upper bound of the regions along the learned score, and its ratio."""
    ratio, _, high = (values[0] for values in regions.bounds(counts))
    n_cuts = regions.layout.cuts.shape[1]
    learned = np.flatnonzero(regions.indices % n_cuts >= n_cuts - len(LEARNED_QUANTILES))
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
