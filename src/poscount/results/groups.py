"""The answers of groups: a dictionary that can be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import narwhals as nw

from poscount.results import notebook
from poscount.results.prevalence import Prevalence, as_columns
from poscount.results.tables import html_table, text_table
from poscount.results.target_shares import TargetShares, columns_of

# What a table calls all rows together.
ALL_ROWS = "all rows"

Answer = TypeVar("Answer", bound=Prevalence | TargetShares)


class GroupAnswers(dict[tuple, Answer]):
    """Answers by group, from the values of the grouping columns, as a tuple, to an answer.

    It is a dictionary; printed, and as the last line of a notebook's cell, it is a table. Groups by
    a single column can be looked up by its value without a tuple, too.

    Parameters
    ----------
    answers : iterable of pairs
        The values of a group, and its answer.
    by : iterable of str
        Names of the grouping columns.
    total : Prevalence or TargetShares, optional
    backend : str
        The kind of frame that `to_frame` makes: pandas, polars or pyarrow.

    Attributes
    ----------
    by : tuple of str
        Names of the grouping columns.
    total : Prevalence, TargetShares or None
        The answer for the rows of all groups together. It is not the sum of the others: what is too
        high or too low in many small groups does not cancel.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import Distribution
    >>> def answer(value):
    ...     return Prevalence(value, n_labeled=100, n_unlabeled=400, method="PAT",
    ...                       distribution=Distribution(np.linspace(0, 2 * value, 49)))
    >>> answers = GroupAnswers({("monday",): answer(0.25), (None,): answer(0.5)}.items(), ["day"])
    >>> answers
    day      prevalence   95 % interval  count    n  verdict             warnings
    monday        0.250  [0.052, 0.448]    100  400  no reason to doubt
    missing       0.500  [0.104, 0.896]    200  400  no reason to doubt
    >>> answers["monday"].count, answers[("monday",)].count
    (100.0, 100.0)
    """

    by: tuple[str, ...]
    total: Answer | None

    def __init__(
        self,
        answers: Iterable[tuple[tuple, Answer]],
        by: Iterable[str],
        total: Answer | None = None,
        backend: str = "pandas",
    ) -> None:
        super().__init__(answers)
        self.by = tuple(by)
        self.total = total
        self._backend = backend

    def __getitem__(self, key: Any) -> Answer:
        return super().__getitem__(self._group(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._group(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """The answer of a group, or the default if there is no such group."""
        return super().get(self._group(key), default)

    def _group(self, key: Any) -> tuple:
        return key if isinstance(key, tuple) else (key,)

    def to_frame(self) -> Any:
        """The answers of the groups as a frame, with the columns that `quantify_by` gives.

        Returns
        -------
        pandas, polars or pyarrow frame
            Of the kind that was grouped.
        """
        answers, groups = list(self.values()), list(self)
        shares = [answer for answer in answers if isinstance(answer, TargetShares)]
        if shares:
            groups = [group for group, answer in self.items() for _ in answer.items()]  # type: ignore[union-attr]
        columns = columns_of(shares) if shares else as_columns(answers)  # type: ignore[arg-type]
        keys = {name: [group[j] for group in groups] for j, name in enumerate(self.by)}
        return nw.from_dict({**keys, **columns}, backend=self._backend).to_native()  # type: ignore[arg-type]

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
        everything = (
            {} if self.total is None else {(ALL_ROWS, *[""] * (len(heads) - 1)): self.total}
        )
        for values, answer in [*everything.items(), *self.items()]:
            texts = ["missing" if value is None else str(value) for value in values]
            if isinstance(answer, TargetShares):
                lines += [([*texts, name], p) for name, p in answer.items()]
            else:
                lines.append((texts, answer))
        targets = any(isinstance(answer, TargetShares) for answer in self.values())
        return [*heads, "target"] if targets else heads, lines
