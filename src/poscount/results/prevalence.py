"""The result of every quantifier: a prevalence with its interval and warnings, and conversions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

from poscount.errors import InputError
from poscount.results import notebook
from poscount.results.distribution import Distribution, Interval
from poscount.results.verdict import AnswerWarning, Verdict, verdict
from poscount.results.what_if import WhatIf


def prevalence_from_label_frequency(
    label_frequency: float, n_labeled: int, n_unlabeled: int
) -> float:
    """Prevalence in the sample from the label frequency, clipped to [0, 1].

    Parameters
    ----------
    label_frequency : float
        Share of all positives that carry a label.
    n_labeled, n_unlabeled : int
        Number of labelled positives and of unlabeled rows.

    Examples
    --------
    >>> prevalence_from_label_frequency(0.25, n_labeled=100, n_unlabeled=1200)
    0.25
    """
    return min(1.0, max(0.0, (n_labeled / label_frequency - n_labeled) / n_unlabeled))


def prevalence_from_joint_prior(joint_prior: float, n_labeled: int, n_unlabeled: int) -> float:
    """Prevalence in the sample from the share of positives in all rows, clipped to [0, 1].

    Parameters
    ----------
    joint_prior : float
        Share of positives in the labelled and unlabeled rows together.
    n_labeled, n_unlabeled : int
        Number of labelled positives and of unlabeled rows.

    Examples
    --------
    >>> prevalence_from_joint_prior(0.625, n_labeled=100, n_unlabeled=100)
    0.25
    """
    p = ((n_labeled + n_unlabeled) * joint_prior - n_labeled) / n_unlabeled
    return min(1.0, max(0.0, p))


class Prevalence(float):
    """Share of positives in a sample: a float that carries its interval and warnings.

    It goes through numpy, pandas, JSON and format strings as a plain number; `repr`, `summary`,
    `plot` and a notebook show more. It is always the share *in the sample*, never in labelled and
    unlabeled rows together (that is `joint_prior`). Arithmetic on it gives plain floats.

    Parameters
    ----------
    value : float
        The prevalence, in [0, 1].
    n_labeled, n_unlabeled : int
        Number of labelled positives learned from, and of rows in the sample.
    method : str
        Name of the quantifier.
    distribution : Distribution, optional
        How likely each prevalence of this sample is; None for a method that gives no interval.
    level : float, default=0.95
        Level of the interval.
    warnings : iterable of AnswerWarning
        Reasons to doubt it; empty when none was found.
    details : mapping, optional
        Intermediate results of the method.
    total_weight : float, optional
        Sum of the rows' survey weights; `n_unlabeled` without weights. `count`, `label_frequency`
        and `joint_prior` are made of it.

    Examples
    --------
    >>> import numpy as np
    >>> p = Prevalence(0.25, n_labeled=100, n_unlabeled=1200, method="PAT",
    ...                distribution=Distribution(np.linspace(0.2, 0.3, 49)))
    >>> p
    Prevalence(0.250, 95% interval [0.210, 0.290], n=1200, PAT)
    >>> print(p, f"{p:.1%}", p.count, p.label_frequency)
    0.25 25.0% 300.0 0.25
    >>> low, high = p.interval
    >>> round(low, 3), round(high, 3)
    (0.21, 0.29)
    >>> p.distribution.above(0.25)
    0.5
    """

    n_labeled: int
    n_unlabeled: int
    method: str
    distribution: Distribution | None
    level: float
    warnings: tuple[AnswerWarning, ...]
    details: dict[str, Any]
    total_weight: float

    def __new__(
        cls,
        value: float,
        *,
        n_labeled: int,
        n_unlabeled: int,
        method: str,
        distribution: Distribution | None = None,
        level: float = 0.95,
        warnings: Iterable[AnswerWarning] = (),
        details: Mapping[str, Any] | None = None,
        total_weight: float | None = None,
    ) -> Prevalence:
        """Make one here and not in `__init__`, because floats are immutable."""
        if not 0 <= value <= 1:
            raise ValueError(f"A prevalence lies between 0 and 1, got {value}.")
        self = super().__new__(cls, value)
        self.n_labeled = int(n_labeled)
        self.n_unlabeled = int(n_unlabeled)
        self.method = method
        self.distribution = distribution
        self.level = level
        self.warnings = tuple(warnings)
        self.details = dict(details or {})
        self.total_weight = float(self.n_unlabeled if total_weight is None else total_weight)
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), {
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            "method": self.method,
        }

    @cached_property
    def interval(self) -> Interval | None:
        """Range for the prevalence of this sample; that of another level has `distribution`."""
        return None if self.distribution is None else self.distribution.interval(self.level)

    @property
    def count(self) -> float:
        """Estimated number of positives in the sample; with survey weights, their weight."""
        return float(self) * self.total_weight

    @property
    def verdict(self) -> Verdict:
        """Whether the assumptions look broken, in one line."""
        return verdict(self.warnings)

    @property
    def label_frequency(self) -> float:
        """Share of all positives that carry a label, c = P(labelled | positive)."""
        return self.n_labeled / (self.n_labeled + self.count)

    @property
    def joint_prior(self) -> float:
        """Share of positives in labelled and unlabeled rows together."""
        return (self.n_labeled + self.count) / (self.n_labeled + self.total_weight)

    def what_if(self) -> WhatIf:
        """The answer under each assumption that the data cannot settle.

        RCQ and its relatives tell what the share is if other rows may look like the positives, and
        if none do; SubclassRCQ, also what it is if kinds of positives may have other shares in the
        sample. It is what the same counts say, and changes nothing.

        Examples
        --------
        >>> from poscount import RCQ
        >>> from poscount.example import load_example
        >>> positives, trap, _ = load_example()
        >>> p = RCQ(random_state=0).fit(positives).quantify(trap)
        >>> [reading.code for reading in p.what_if()]
        ['typical', 'both']
        """
        if "what_if" not in self.details:
            raise InputError(
                f"{self.method} has no other readings of this sample: RCQ and SubclassRCQ have, "
                "unless they use the null calibration or have too few positives for regions."
            )
        return self.details["what_if"]

    def replace(self, **changes: Any) -> Prevalence:
        """The same prevalence with other attributes.

        Examples
        --------
        >>> p = Prevalence(0.5, n_labeled=10, n_unlabeled=10, method="PAT")
        >>> p.replace(n_labeled=30).n_labeled
        30
        """
        kept = {
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            "method": self.method,
            "distribution": self.distribution,
            "level": self.level,
            "warnings": self.warnings,
            "details": self.details,
            "total_weight": self.total_weight,
        }
        return Prevalence(float(self), **{**kept, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Everything but `details`, in types that JSON knows.

        Examples
        --------
        >>> p = Prevalence(0.5, n_labeled=10, n_unlabeled=10, method="PAT")
        >>> p.to_dict()["count"]
        5.0
        """
        weighted = {}
        if "effective_rows" in self.details:
            effective = self.details["effective_rows"]
            weighted = {"total_weight": self.total_weight, "effective_rows": effective}
        of_clusters = ("clusters", "rows_worth")
        weighted |= {name: self.details[name] for name in of_clusters if name in self.details}
        return {
            "prevalence": float(self),
            "interval": asdict(self.interval) if self.interval else None,
            "count": self.count,
            "n_labeled": self.n_labeled,
            "n_unlabeled": self.n_unlabeled,
            **weighted,
            "label_frequency": self.label_frequency,
            "joint_prior": self.joint_prior,
            "method": self.method,
            "verdict": asdict(self.verdict),
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    def summary(self) -> str:
        """Everything in one line, for people: share, interval, verdict and warnings.

        Examples
        --------
        >>> import numpy as np
        >>> p = Prevalence(0.25, n_labeled=100, n_unlabeled=1200, method="PAT",
        ...                distribution=Distribution(np.linspace(0.2, 0.3, 49)))
        >>> print(p.summary())  # doctest: +NORMALIZE_WHITESPACE
        25.0 % of 1,200 rows are positive (95 % interval 21.0 to 29.0 %). No reason to doubt. PAT.
        """
        interval = f" ({_interval_in_words(self.interval)})" if self.interval else ""
        codes = ", ".join(warning.code for warning in self.warnings)
        return (
            f"{notebook.percent(self)} % of {self.n_unlabeled:,} rows are positive{interval}. "
            f"{self.verdict} {f'Warnings: {codes}. ' if codes else ''}{self.method}."
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the share with its interval and the verdict; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PrevalenceDisplay
            With the axes, `ax_`, and their figure, `figure_`.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> import numpy as np
        >>> p = Prevalence(0.25, n_labeled=100, n_unlabeled=1200, method="PAT",
        ...                distribution=Distribution(np.linspace(0.2, 0.3, 49)))
        >>> p.plot().ax_.get_xlabel()
        'share of positives (%)'
        """
        from poscount.plotting import PrevalenceDisplay

        return PrevalenceDisplay.from_prevalence(self, ax=ax)

    def __str__(self) -> str:
        return float.__repr__(self)

    def _repr_html_(self) -> str:
        interval = f", {_interval_in_words(self.interval)}" if self.interval else ""
        sizes = (
            f"{self.method}: {self.n_unlabeled:,} rows, about {self.count:,.0f} positives; learned "
            f"from {self.n_labeled:,} labelled positives."
        )
        return notebook.piece(
            notebook.paragraph(f" positives{interval}", strong=f"{notebook.percent(self)} %"),
            notebook.bar(as_share(self)),
            notebook.paragraph(f"Verdict: {self.verdict}"),
            notebook.listed((f"{each.code}:", each.sentence) for each in self.warnings),
            notebook.paragraph(sizes, small=True),
        )

    def __repr__(self) -> str:
        parts = [f"{float(self):.3f}"]
        if self.interval:
            low, high = self.interval.low, self.interval.high
            parts.append(f"{self.interval.level * 100:g}% interval [{low:.3f}, {high:.3f}]")
        parts += [f"n={self.n_unlabeled}", self.method]
        if self.warnings:
            parts.append("warnings: " + " ".join(warning.code for warning in self.warnings))
        return f"Prevalence({', '.join(parts)})"


def as_share(p: Prevalence) -> notebook.Share:
    """What a bar shows of a prevalence."""
    return notebook.Share(float(p), *(p.interval or (float(p), float(p))))


def _interval_in_words(interval: Interval) -> str:
    low, high = map(notebook.percent, interval)
    return f"{100 * interval.level:g} % interval {low} to {high} %"


def as_columns(prevalences: Sequence[Prevalence]) -> dict[str, list[Any]]:
    """Columns of a table with one row per prevalence.

    Examples
    --------
    >>> p = Prevalence(0.5, n_labeled=10, n_unlabeled=8, method="PAT")
    >>> as_columns([p])["count"]
    [4.0]
    """
    missing = float("nan")
    return {
        "prevalence": [float(p) for p in prevalences],
        "low": [p.interval.low if p.interval else missing for p in prevalences],
        "high": [p.interval.high if p.interval else missing for p in prevalences],
        "count": [p.count for p in prevalences],
        "n": [p.n_unlabeled for p in prevalences],
        "verdict": [p.verdict.status for p in prevalences],
        "warnings": [" ".join(warning.code for warning in p.warnings) for p in prevalences],
    }
