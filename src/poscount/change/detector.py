r"""A detector of change in windows of a stream, with a run length that is guaranteed.

The level of each window is made of ratios on common regions, as :math:`y = \arcsin \sqrt{e / a}`,
whose variance is :math:`\sigma^2 / n` for any prevalence. For every window j after the baseline,
the hypothesis "the level changed at j" is weighed against "it never did" by the ratio of
their likelihoods, with a normal prior on the size of the change in units of :math:`\sigma`, and
with neither the level nor :math:`\sigma` known: by the distribution of what does not depend on
them. With :math:`d` the difference between the means after and before j, :math:`V = 1/N_0 + 1/N_1`
by the rows of both, :math:`S` the weighted sum of squares of all t windows around their mean, and
the prior variance g,

.. math:: \Lambda_j = \sqrt{\frac{V}{V + g}}
          \left(1 - \frac{d^2}{S} \left(\frac{1}{V} - \frac{1}{V + g}\right)\right)^{-(t - 1) / 2}

Under "it never did" this is a martingale in t, whatever the level and :math:`\sigma` are. So is the
Shiryaev-Roberts statistic :math:`R = \sum_j \Lambda_j` minus the number of windows after the
baseline, and if the alarm is raised when R reaches A, the mean number of windows up to a false
alarm is at least A (Shin, Ramdas and Rinaldo, "E-detectors", 2024). Because the level is not
needed, that of the baseline may be estimated from few windows; because :math:`\sigma` is not,
windows may vary more than chance explains. A lasting change that negatives of other kinds explain,
by what the model says about them (`SharedRegions.lasting`), raises no alarm, which can only make
the run length longer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.change.shared_regions import (
    SharedRegions,
    arcsine,
    quantile,
    require_comparable,
    shared_regions,
)
from poscount.counts.counts import Counts
from poscount.errors import InputError

FEWEST_WINDOWS = 5
# Changes of this many standard deviations of a window are expected: the square root of g.
_EXPECTED_SHIFT = 2.0
# Changes longer ago than so many windows are not looked for, which can only raise the run length.
_LONGEST_AGO = 5000


class Reading(NamedTuple):
    """What the detector says after a window.

    Attributes
    ----------
    window : int
        Number of the window, from 1.
    learning : bool
        Whether the window is one of the baseline, which cannot raise an alarm.
    statistic : float
        An alarm is raised when it reaches the run length, and the change is larger than changing
        negatives explain.
    alarm : bool
    level : float or None
        Prevalence by the regions of the baseline; None while learning.
    since : int or None
        The window at which the change most likely happened, after an alarm.
    before, after : float or None
        Levels before and since that change.
    """

    window: int
    learning: bool
    statistic: float
    alarm: bool
    level: float | None = None
    since: int | None = None
    before: float | None = None
    after: float | None = None


class ChangeDetector:
    """Tells when the prevalence in a stream of windows has changed.

    The first windows are the baseline: they choose the regions and are what later windows are
    compared with. After an alarm the detector begins anew, with a new baseline.

    Parameters
    ----------
    model : RCQ, PAT or ODIn
        Fitted.
    run_length : float, default=1000
        Mean number of windows between false alarms, at least.
    baseline : int, default=20
        Number of windows of the baseline, at least 5.

    See Also
    --------
    poscount.trend : For a series of groups.
    poscount.compare_samples : For two samples.

    Examples
    --------
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> model = RCQ(random_state=0).fit(rng.normal(size=(300, 3)))
    >>> detector = ChangeDetector(model, run_length=1000, baseline=10)
    >>> for i in range(30):
    ...     negative = rng.random((500, 1)) > (0.3 if i < 20 else 0.5)
    ...     reading = detector.update(model.count(rng.normal(size=(500, 3)) + 7 * negative))
    ...     if reading.alarm:
    ...         print(reading.window, reading.since, round(reading.after - reading.before, 1))
    21 21 0.2
    """

    def __init__(
        self, model: Quantifier, *, run_length: float = 1000.0, baseline: int = 20
    ) -> None:
        if not run_length > 1:
            raise InputError(
                f"The run length is {run_length:g}; it must be above 1 window.", option="run_length"
            )
        if baseline < FEWEST_WINDOWS:
            raise InputError(
                f"The baseline is {baseline} window(s); it must be at least {FEWEST_WINDOWS}.",
                option="baseline",
            )
        self.model = require_comparable(model)
        self.run_length, self.baseline = run_length, baseline
        self.window = 0
        self._begin()

    def _begin(self) -> None:
        self._learned: list[Counts] = []
        self._regions: SharedRegions | None = None
        self._first = self.window

    def update(self, counts: Counts) -> Reading:
        """Take the counts of the next window."""
        self.window += 1
        if self._regions is None:
            self._learned.append(counts)
            if len(self._learned) == self.baseline:
                self._learn()
            return Reading(self.window, True, 0.0, False)
        (ratio,), (n_rows,) = self._regions.ratios([counts])
        self._add(float(ratio), float(n_rows))
        evidence = self._evidence()
        statistic = float(evidence.sum())
        level = float(self._regions.shares(ratio))
        # The first window after the change, counted among those kept.
        at = len(self._rows) - len(evidence) + int(evidence.argmax())
        before, after = (self._mean_level(part) for part in (slice(at), slice(at, None)))
        explained = math.sqrt(2) * quantile(self.model.confidence) * self._regions.lasting
        if statistic < self.run_length or abs(after - before) <= explained:
            return Reading(self.window, False, statistic, False, level)
        reading = Reading(
            self.window, False, statistic, True, level, self._first + at + 1, before, after
        )
        self._begin()
        return reading

    def _learn(self) -> None:
        """Choose the regions, and note each window of the baseline as if it had had no say in it.

        A window that has helped to choose the regions is low in them by its own luck.
        """
        counts = self._learned
        self._regions = shared_regions(self.model, counts)
        self._ratios: list[float] = []
        self._rows: list[float] = []
        # Rows, and sums of y and of its square, before each window and after the last.
        self._sums = np.zeros((1, 3))
        for i, each in enumerate(counts):
            others = shared_regions(self.model, counts[:i] + counts[i + 1 :])
            (ratio,), (n_rows,) = others.ratios([each])
            self._add(float(ratio), float(n_rows))
        self._prior = _EXPECTED_SHIFT**2 / float(np.mean(self._rows))
        self._learned = []

    def _add(self, ratio: float, n_rows: float) -> None:
        assert self._regions is not None  # only called when they are known
        share = min(ratio / self._regions.second_moment, 1.0)
        y = arcsine(share, n_rows)
        self._ratios.append(ratio)
        self._rows.append(n_rows)
        self._sums = np.vstack([self._sums, self._sums[-1] + n_rows * np.array([1.0, y, y**2])])

    def _evidence(self) -> np.ndarray:
        """Evidence for a change at each window after the baseline, up to the last."""
        n_windows = len(self._rows)
        start = max(self.baseline, n_windows - _LONGEST_AGO)
        rows, sums, squares = self._sums[-1]
        rows_before, sums_before, _ = self._sums[start:n_windows].T
        rows_after = rows - rows_before
        apart = (sums - sums_before) / rows_after - sums_before / rows_before
        variance = 1 / rows_before + 1 / rows_after
        around_mean = max(squares - sums**2 / rows, np.finfo(float).tiny)
        explained = apart**2 * (1 / variance - 1 / (variance + self._prior)) / around_mean
        log = 0.5 * np.log(variance / (variance + self._prior)) - (n_windows - 1) / 2 * np.log1p(
            -np.minimum(explained, 1 - 1e-12)
        )
        return np.exp(np.minimum(log, 700.0))

    def _mean_level(self, part: slice) -> float:
        assert self._regions is not None  # only called after an alarm
        mean = np.asarray(np.average(self._ratios[part], weights=self._rows[part]))
        return float(self._regions.shares(mean))
