"""The answers of groups: a dictionary that can be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from poscount.results import notebook
from poscount.results.prevalence import Prevalence
from poscount.results.tables import html_table, text_table
from poscount.results.target_shares import TargetShares

Answer = TypeVar("Answer", bound=Prevalence | TargetShares)


class GroupAnswers(dict[tuple, Answer]):
    """Answers by group, from the values of the grouping columns, as a tuple, to an answer.

    It is a dictionary; printed, and as the last line of a notebook's cell, it is a table.

    Parameters
    ----------
    answers : iterable of pairs
        The values of a group, and its answer.
    by : iterable of str
        Names of the grouping columns.

    Attributes
    ----------
    by : tuple of str
        Names of the grouping columns.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import Distribution
    >>> def answer(value):
    ...     return Prevalence(value, n_labeled=100, n_unlabeled=400, method="PAT",
    ...                       distribution=Distribution(np.linspace(0, 2 * value, 49)))
    >>> answers = GroupAnswers({("monday",): answer(0.25), (None,): answer(0.5)}.items(), ["day"])
    >>> answers
    day      prevalence   95 % interval  count    n  verdict  warnings
    monday        0.250  [0.052, 0.448]    100  400  unknown
    missing       0.500  [0.104, 0.896]    200  400  unknown
    >>> answers[("monday",)].count
    100.0
    """

    by: tuple[str, ...]

    def __init__(self, answers: Iterable[tuple[tuple, Answer]], by: Iterable[str]) -> None:
        super().__init__(answers)
        self.by = tuple(by)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the answers; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PrevalenceDisplay or TargetSharesDisplay
            With the axes, `ax_`, and their figure, `figure_`.
        """
        from poscount.plotting import PrevalenceDisplay, TargetSharesDisplay

        several = any(isinstance(answer, TargetShares) for answer in self.values())
        return (TargetSharesDisplay if several else PrevalenceDisplay).from_groups(self, ax=ax)

    def __repr__(self) -> str:
        return text_table(*self._lines()) if self else "GroupAnswers()"

    def _repr_html_(self) -> str:
        return notebook.piece(html_table(*self._lines()) if self else "")

    def _lines(self) -> tuple[list[str], list[tuple[list[str], Prevalence]]]:
        heads: list[str] = list(self.by)
        lines: list[tuple[list[str], Prevalence]] = []
        for values, answer in self.items():
            texts = ["missing" if value is None else str(value) for value in values]
            if isinstance(answer, TargetShares):
                lines += [([*texts, name], p) for name, p in answer.items()]
            else:
                lines.append((texts, answer))
        targets = any(isinstance(answer, TargetShares) for answer in self.values())
        return [*heads, "target"] if targets else heads, lines
