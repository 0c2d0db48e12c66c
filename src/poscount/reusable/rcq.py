"""RCQ, the region counting quantifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from poscount import checks, constraints
from poscount.errors import InputError
from poscount.intervals import half_width
from poscount.prevalence import Caution, Interval, Prevalence
from poscount.reusable.pat import tail_ratios
from poscount.reusable.posterior import posterior_of_cells
from poscount.reusable.region_counter import PAT_SHARES, RegionCounter
from poscount.reusable.region_rule import Findings, RegionRule, interval
from poscount.reusable.regions import (
    CLUSTERINGS,
    CORE,
    N_SCORE_CELLS,
)

__all__ = ["RCQ"]

FEWEST_POSITIVES = 20
GROUPS_AT_ONCE = 128


class RCQ(RegionCounter):
    r"""Region counting: the part of the positives' space that the sample fills least.

    Where a share m of the positives lives and only a share s of the sample, at most s / m of the
    sample is positive, whatever the negatives are. RCQ looks at many such regions at once, bands
    of the Mahalanobis score crossed with cuts along features and with clusters of the positives,
    and takes the ratio of those that bound the prevalence most, corrected for the luck of choosing
    among many (`poscount.reusable.region_rule` has the formulas). PAT, which looks at the bands
    alone, answers too much when negatives look like part of the positives; RCQ needs only one
    region that they avoid.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Threads that count; -1 uses all cores. The answer does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the clusters and of the calibration.

    Attributes
    ----------
    scorer_ : Mahalanobis
        The scorer, with a shrunk covariance, fitted on all positives.
    edges_ : ndarray
        Edges along the score.
    features_ : ndarray of int
        Features that are cut: those that vary, and 40 of them at random if there are more.
    cuts_ : ndarray of shape (n_cut_features, 4)
        Where they are cut.
    directions_, offsets_ : ndarray
        A row belongs to the cluster whose direction, times the row, minus the offset is largest.
    binned_ : ndarray of uint8, shape (n_labeled, 1 + n_cut_features + 3)
        The positives themselves, as score cell, bins of the features and clusters: the
        calibration redraws them. So a model file tells roughly where each positive lies.
    core_freedom_ : float
        How many independent cuts the features' cuts are worth, for the warning "core-differs".
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    A sample is seen through 8 score cells times (5 bins of each cut feature and 9 clusters), and
    the 52 cells of PAT along the same score: at most 14 kB, which add up.

    With fewer than 20 positives, or where no region holds between 8 and 90 % of them, the answer is
    that of PAT with the same score, and the warning "few-positives-for-rcq" says so: without
    overlap PAT's error was smaller by 1 to 4 points for 10 to 15 positives, equal for 20 to 25, and
    larger from 30 on (``benchmarks/rcq_ablation.py --variants RCQ --positives 10 15 20 30``).

    `details` of a prevalence: the `region` that bounds it most, in words, with its `share` of the
    positives, its `ratio` and its bounds `low` and `high`; the weighted `ratio` before and the
    `null_ratio` behind the calibration; `bound`, which at least 97.5 of 100 prevalences do not
    exceed, assuming nothing about the negatives; the `gap` between bound and ratio, behind the
    interval; `pat`, what PAT finds with the same score; and the statistics `H`, `G`, `O` behind
    the warnings (`poscount.checks`).

    Examples
    --------
    Half of the positives are around 0, half around 3; all negatives are around 3, too:

    >>> import numpy as np
    >>> from poscount import PAT, RCQ
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> positives = np.vstack([around(0, 250), around(3, 250)])
    >>> sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
    >>> round(float(PAT(random_state=0).fit(positives).quantify(sample)), 1)
    1.0
    >>> round(float(RCQ(random_state=0).fit(positives).quantify(sample)), 1)
    0.3
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _region_rule(self) -> RegionRule:
        if "_rule" not in vars(self):  # a model from a file
            self._rule = RegionRule(self._layout, self.binned_, self.seed_)
        return self._rule

    def _tables(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, : -len(PAT_SHARES)].reshape(len(cells), N_SCORE_CELLS, -1)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Prevalence]:
        pat = self._uncapped_pat(cells)
        return self._answers(
            self._region_rule(), self._tables(cells), n_rows, pat, type(self).__name__
        )

    def _uncapped_pat(self, cells: np.ndarray) -> np.ndarray:
        return np.median(tail_ratios(cells[:, -len(PAT_SHARES) :], PAT_SHARES), axis=-1)

    def _answers(
        self, rule: RegionRule, tables: np.ndarray, n_rows: np.ndarray, pat: np.ndarray, method: str
    ) -> list[Prevalence]:
        if self._too_few_positives(rule):
            pairs = zip(n_rows.tolist(), pat.tolist(), strict=True)
            return [self._answer_by_pat(n, uncapped, method) for n, uncapped in pairs]
        answers = []
        for start in range(0, len(tables), GROUPS_AT_ONCE):
            part = slice(start, start + GROUPS_AT_ONCE)
            found = rule.find(tables[part], n_rows[part])
            differences = self._core_differences(rule, found.in_cuts)
            answers += [
                self._answer(rule, found, i, float(differences[i]), float(pat[start + i]), method)
                for i in range(len(found.prevalence))
            ]
        return answers

    def _too_few_positives(self, rule: RegionRule) -> bool:
        return self.n_labeled_ < FEWEST_POSITIVES or len(rule.regions) < 2

    def _answer_by_pat(self, n_rows: int, pat: float, method: str) -> Prevalence:
        p = min(1.0, pat)
        half = float(half_width(p, self.n_labeled_, n_rows, self.confidence))
        interval = Interval(max(0.0, p - half), min(1.0, p + half), self.confidence)
        excess = checks.core_excess(pat, self.n_labeled_, n_rows)
        cautions = [
            *checks.few_positives_for_rcq(self.n_labeled_, FEWEST_POSITIVES),
            *checks.wide_interval(interval),
            *checks.crowded_core(excess),
            *self._cautions_of_fit(),
        ]
        return Prevalence(
            p,
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            method=method,
            interval=interval,
            warnings=cautions,
            details={"seed": self.seed_, "pat": pat, "O": excess},
        )

    def _cautions_of_fit(self) -> list[Caution]:
        return [
            *checks.singular_covariance(self.scorer_, getattr(self, "feature_names_in_", None)),
            *checks.tied_scores(self.largest_tie_),
        ]

    def _core_differences(self, rule: RegionRule, in_cuts: np.ndarray) -> np.ndarray:
        return checks.core_difference(
            *self._core(rule, in_cuts), *self._core(rule, rule.positives_in_cuts)
        )

    def _core(self, rule: RegionRule, in_cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the core below each cut that there is, and in all."""
        cuts = rule.layout.feature_cuts
        used = np.isfinite(self.cuts_.ravel())
        return in_cuts[..., CORE, cuts].compress(used, axis=-1), in_cuts[..., CORE, 0]

    def _answer(
        self,
        rule: RegionRule,
        found: Findings,
        i: int,
        difference: float,
        pat: float,
        method: str,
    ) -> Prevalence:
        p, gap, n_rows = float(found.prevalence[i]), float(found.gap[i]), int(found.n_rows[i])
        low, high = interval(float(found.decision.ratio[i]), p, gap, self.confidence)
        disagreement = (pat - p) / max(gap, np.finfo(float).tiny)
        excess = checks.core_excess(pat, self.n_labeled_, n_rows)
        cautions = [
            *checks.wide_gap(gap),
            *checks.shifted_core(difference, self.core_freedom_, p, pat),
            *checks.disagreement(disagreement, p, pat),
            *checks.crowded_core(excess, "PAT would answer too much, and RCQ may"),
            *self._cautions_of_fit(),
        ]
        details = {
            "seed": self.seed_,
            "region": self._region(rule, found, i),
            "ratio": float(found.decision.ratio[i]),
            "null_ratio": float(found.null_ratio[i]),
            "gap": gap,
            "bound": max(p, min(1.0, float(found.decision.its_high[i]))),
            "pat": pat,
            "H": difference,
            "G": disagreement,
            "O": excess,
        }
        return Prevalence(
            p,
            n_labeled=self.n_labeled_,
            n_unlabeled=n_rows,
            method=method,
            interval=Interval(low, high, self.confidence),
            warnings=cautions,
            details=details,
        )

    def _where(self, rule: RegionRule, region: int) -> str:
        names = [self._feature_name(j) for j in self.features_.tolist()]
        return rule.layout.words(int(rule.regions[region]), names, self.cuts_)

    def _region(self, rule: RegionRule, found: Findings, i: int) -> dict[str, Any]:
        decision = found.decision
        return {
            "where": self._where(rule, int(decision.region[i])),
            "share": float(decision.its_share[i]),
            "ratio": float(decision.its_ratio[i]),
            "low": float(decision.its_low[i]),
            "high": float(decision.its_high[i]),
        }

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability of each row of a sample to be positive.

        All rows of one score cell and one of four clusters share a probability,
        min(1, s share_L / share_U), with the shares of the positives and of the sample, and s such
        that the mean over the sample is the estimated prevalence.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values in [0, 1].

        Warns
        -----
        UserWarning
            If the mean cannot reach the prevalence, because too few rows lie where positives can.
        """
        rows = self._sample(sample)
        if len(rows) == 0:
            raise InputError("The sample has no rows (0 sample(s)): at least one is needed.")
        value = float(self._quantify(rows))
        cells = np.concatenate([_joint_cell(self._binned(block)) for block in rows.blocks()])
        n_cells = N_SCORE_CELLS * CLUSTERINGS[-1]
        shares, sample_shares = (
            np.bincount(x, minlength=n_cells) / len(x) for x in (_joint_cell(self.binned_), cells)
        )
        return posterior_of_cells(shares, sample_shares, value)[cells]


def _joint_cell(binned: np.ndarray) -> np.ndarray:
    """Score cell and cluster, of four, in one number."""
    return binned[:, 0].astype(np.intp) * CLUSTERINGS[-1] + binned[:, -1]
