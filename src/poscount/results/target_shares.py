"""The answer of a quantifier with several targets: the share of each, and of everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np

from poscount.results import notebook
from poscount.results.prevalence import Prevalence, as_columns
from poscount.results.tables import html_table

# The share of rows that belong to no target has this name.
OTHER = "other"
# Shares are multiples of this, so that they add up to exactly 1 in any order.
UNIT = 2.0**-40


class TargetShares(Mapping[str, Prevalence]):
    """Shares of several targets in a sample, and of all other rows; they add up to exactly 1.

    A mapping from the name of each target, and from "other", to a `Prevalence`.

    Parameters
    ----------
    shares : mapping of str to Prevalence
        Of each target, and last of "other".

    Examples
    --------
    >>> def share(value):
    ...     return Prevalence(value, n_labeled=100, n_unlabeled=400, method="MultiRCQ")
    >>> shares = TargetShares({"cat": share(0.25), "dog": share(0.5), "other": share(0.25)})
    >>> shares["dog"].count, shares.targets, sum(shares.values())
    (200.0, ['cat', 'dog'], 1.0)
    >>> shares
    TargetShares(n=400, MultiRCQ)
      cat    0.250
      dog    0.500
      other  0.250
    """

    def __init__(self, shares: Mapping[str, Prevalence]) -> None:
        self._shares = dict(shares)

    def __getitem__(self, target: str) -> Prevalence:
        return self._shares[target]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    @property
    def targets(self) -> list[str]:
        """Names of the targets."""
        return [name for name in self if name != OTHER]

    @property
    def other(self) -> Prevalence:
        """Share of the rows that belong to no target."""
        return self[OTHER]

    @property
    def n_unlabeled(self) -> int:
        """Number of rows in the sample."""
        return self.other.n_unlabeled

    @property
    def method(self) -> str:
        """Name of the quantifier."""
        return self.other.method

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Everything but the details of each share, in types that JSON knows."""
        return {name: p.to_dict() for name, p in self.items()}

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """One row for each target and for "other".

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The kind of frame.

        Returns
        -------
        frame
            With the columns `target`, `prevalence`, `low`, `high`, `count`, `n`, `verdict` and
            `warnings`.
        """
        return nw.from_dict(columns_of([self]), backend=backend).to_native()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the shares, stacked; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        TargetSharesDisplay
            With the axes, `ax_`, and their figure, `figure_`.
        """
        from poscount.plotting import TargetSharesDisplay

        title = f"{TargetSharesDisplay.title}, {self.method}"
        return TargetSharesDisplay.from_predictions([self], ["sample"], title=title, ax=ax)

    def _repr_html_(self) -> str:
        rows = f"{self.method}: shares of {self.n_unlabeled:,} rows; they add up to 100 %."
        return notebook.piece(
            html_table(["target"], [([name], p) for name, p in self.items()]),
            notebook.paragraph(rows, small=True),
        )

    def __repr__(self) -> str:
        width = max(map(len, self))
        lines = [f"TargetShares(n={self.n_unlabeled}, {self.method})"]
        for name, p in self.items():
            line = f"  {name:<{width}}  {float(p):.3f}"
            if p.interval:
                level = f"{100 * p.interval.level:g}%"
                line += f"  {level} interval [{p.interval.low:.3f}, {p.interval.high:.3f}]"
            if p.warnings:
                line += "  warnings: " + " ".join(warning.code for warning in p.warnings)
            lines.append(line)
        return "\n".join(lines)


def columns_of(answers: Iterable[TargetShares]) -> dict[str, list[Any]]:
    """Columns of a table with one row for each target of each answer."""
    answers = list(answers)
    names = [name for answer in answers for name in answer]
    return {"target": names, **as_columns([p for answer in answers for p in answer.values()])}


def exact_shares(values: np.ndarray) -> np.ndarray:
    """Shares that add up to exactly 1, of which the last is what the others leave.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_targets)
        Shares of the targets, none below 0; scaled down where they add up to more than 1.

    Returns
    -------
    ndarray of shape (n_samples, n_targets + 1)

    Examples
    --------
    >>> exact_shares(np.array([[0.1, 0.2], [1.0, 3.0]])).sum(axis=1).tolist()
    [1.0, 1.0]
    >>> exact_shares(np.array([[1.0, 3.0]])).tolist()
    [[0.25, 0.75, 0.0]]
    """
    limited = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    # Rounded down, so that the rest is never negative; then all sums are exact.
    rounded = np.floor(limited / UNIT) * UNIT
    return np.column_stack([rounded, 1 - rounded.sum(axis=1)])
