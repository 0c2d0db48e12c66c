"""Average ranks of methods, with bars over those that a test cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from poscount.plotting.style import BLUE, plain, pyplot


class CriticalDifferenceDisplay:
    """Critical-difference diagram, drawn by scikit-posthocs.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    References
    ----------
    J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import pandas as pd
    >>> names = ["PAT", "TIcE", "KM1"]
    >>> p = pd.DataFrame([[1, 0.3, 0.01], [0.3, 1, 0.4], [0.01, 0.4, 1]], names, names)
    >>> display = CriticalDifferenceDisplay.from_ranks(
    ...     {"PAT": 1.1, "TIcE": 2.0, "KM1": 2.9}, p, level=0.1, critical_difference=1.3
    ... )
    >>> display.ax_.get_xlabel()
    'average rank, 1 is best'
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[str, float],
        p_values: Any,
        *,
        level: float,
        critical_difference: float,
        title: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw average ranks.

        Parameters
        ----------
        ranks : mapping of str to float
            Average rank of each method; low is good.
        p_values : DataFrame
            Of every pair, with the methods as index and columns.
        level : float
            Below which a p-value is significant.
        critical_difference : float
            Smallest significant difference of average ranks.
        title : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        plt = pyplot()
        try:
            from scikit_posthocs import critical_difference_diagram
        except ImportError as error:
            raise ImportError(
                'Critical differences need scikit-posthocs: pip install "poscount[experiments]".'
            ) from error
        if ax is None:
            # Half of the names stand on each side; bars take some room, too.
            _, ax = plt.subplots(figsize=(9.0, 2.2 + 0.2 * len(ranks)), layout="constrained")
        critical_difference_diagram(
            {plain(name): value for name, value in ranks.items()},
            p_values.rename(index=plain, columns=plain),
            alpha=level,
            ax=ax,
            label_fmt_left="{label} ({rank:.1f})  ",
            label_fmt_right="  ({rank:.1f}) {label}",
            label_props={"fontsize": 10},
            marker_props={"color": BLUE, "s": 22},
            elbow_props={"color": "#333333", "linewidth": 0.9},
            crossbar_props={"color": BLUE, "linewidth": 3.5},
            text_h_margin=0.04 * len(ranks),
        )
        ax.set_xlabel("average rank, 1 is best")
        ax.xaxis.set_label_position("top")
        bars = f"bars: no significant difference (level {level:g}, critical difference "
        text = f"{bars}{critical_difference:.2f} ranks)"
        ax.set_title(f"{title}\n{text}" if title else text, fontsize=10)
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
