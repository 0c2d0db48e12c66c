"""From labels to a prevalence, beside what the model says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import in_memory
from poscount.auditing.clustered import settle_clusters
from poscount.auditing.label_table import LabelTable, places_in, read_label_table
from poscount.auditing.labels import (
    Agreement,
    Evidence,
    Labels,
    agreement,
    corrected,
    distribution_of,
    findings,
    labels_needed,
    positives_outside,
)
from poscount.auditing.review import Review, review
from poscount.auditing.sampling import LabelSample, draw
from poscount.base.counting import CountingQuantifier
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError
from poscount.results import notebook
from poscount.results.prevalence import Prevalence
from poscount.results.tables import html_table
from poscount.results.verdict import NO_DOUBT, AnswerWarning

AGREEMENTS: dict[Agreement, str] = {
    "agree": "The labels and the model agree.",
    "unclear": "The labels neither confirm the model nor contradict it.",
    "contradict": "The labels contradict the model.",
}


class StratumLabels(NamedTuple):
    """A stratum, from the rows that are least likely to be positive on.

    Attributes
    ----------
    stratum : int
        Its number, from 1.
    rows, drawn, labelled, positives : int
        Its rows, those drawn, those with a label, and those labelled as positive.
    expected : float
        Share of positives in it, according to the model.
    """

    stratum: int
    rows: int
    drawn: int
    labelled: int
    positives: int
    expected: float


@dataclass(frozen=True)
class Settlement:
    """What the labels say, what the model says, and whether they agree.

    Attributes
    ----------
    prevalence : Prevalence
        By the labels. Its interval holds the truth at all looks together with the probability of
        its level, however the model does. It assumes that the labels are right, or wrong at the
        given rates, and that the rows were drawn as stated.
    model : Prevalence
        By the model alone.
    agreement : {"agree", "unclear", "contradict"}
        "contradict" if the two intervals have nothing in common, "agree" if that of the labels
        holds the model's answer.
    findings : tuple of AnswerWarning
        Which assumption broke, and what to be careful about.
    strata : tuple of StratumLabels
    positives, negatives : frame of the caller's kind
        Rows with these labels, to be given back as labelled positives and known negatives.
    groups : dict
        From the key of each group to its prevalence by the labels; empty without groups.
    labels : Labels
        In the order in which the rows were drawn.
    rows : ndarray of int, shape (n_labels,)
        The place of each label's row among all rows, from 0.
    """

    prevalence: Prevalence
    model: Prevalence
    agreement: Agreement
    findings: tuple[AnswerWarning, ...]
    strata: tuple[StratumLabels, ...]
    positives: Any
    negatives: Any
    groups: dict[tuple[Any, ...], Prevalence]
    labels: Labels
    rows: np.ndarray

    @property
    def answer(self) -> Prevalence:
        """The headline: the labels' answer, unless it agrees with the model's and is wider."""
        ours, theirs = self.prevalence.interval, self.model.interval
        assert ours is not None
        assert theirs is not None
        doubted = self.model.verdict.status != NO_DOUBT
        by_labels = doubted or self.agreement != "agree" or ours.width <= theirs.width
        return self.prevalence if by_labels else self.model

    @property
    def headline(self) -> str:
        """The answer in a sentence, with what it is made from."""
        p = self.answer
        assert p.interval is not None
        by = f"the model, with which {self.n_labelled} label(s) agree"
        if p is self.prevalence:
            by = f"{self.n_labelled} label(s)"
        low, high = (100 * end for end in p.interval)
        return f"{100 * p:.1f} % are positive, {low:.1f} to {high:.1f} %, by {by}."

    @property
    def answers(self) -> dict[str, Prevalence]:
        """Both answers, by what they are made from."""
        return {f"{self.n_labelled} labels": self.prevalence, "model": self.model}

    @property
    def agreement_in_words(self) -> str:
        """Whether the labels and the model agree, in a sentence."""
        return AGREEMENTS[self.agreement]

    @property
    def n_labelled(self) -> int:
        """Number of labels."""
        return sum(stratum.labelled for stratum in self.strata)

    @property
    def n_drawn(self) -> int:
        """Number of rows that were drawn."""
        return sum(stratum.drawn for stratum in self.strata)

    def labels_needed(self, width: float) -> int:
        """About how many labels in all, not in addition, give an interval of this width."""
        if not 0 < width < 1:
            raise InputError(
                f"The width of an interval is between 0 and 1, such as 0.05, not {width}.",
                option="width",
            )
        if "clusters" in self.prevalence.details:
            raise InputError(
                "More labels do not make up for few clusters: ask without the clusters.",
                option="cluster",
                leave_out=True,
            )
        assert self.prevalence.interval is not None
        return labels_needed(self.labels, width, self.prevalence.interval.level)

    def review(self, kept: Any) -> Review:
        """How good a review of these rows is: its recall, and what it has left out.

        The labels of any audit tell, at any threshold. Rows on which two people do not agree count
        as negatives.

        Parameters
        ----------
        kept : array-like of bool, shape (n_rows,)
            Which of all rows the review kept, such as ``scores >= 0.5``.
        """
        return review(self.labels, self.rows, kept, self.prevalence)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, in types that JSON knows."""
        return {
            "answer": "labels" if self.answer is self.prevalence else "model",
            "headline": self.headline,
            "labels": _record(self.prevalence),
            "model": _record(self.model),
            "agreement": self.agreement,
            "findings": [asdict(warning) for warning in self.findings],
            "n_rows": self.prevalence.n_unlabeled,
            "n_drawn": self.n_drawn,
            "n_labelled": self.n_labelled,
            "strata": [stratum._asdict() for stratum in self.strata],
            "groups": [
                {"group": [None if value is None else str(value) for value in key], **_record(p)}
                for key, p in self.groups.items()
            ],
        }

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the answers beside each other; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PrevalenceDisplay
            With the axes, `ax_`, and their figure, `figure_`.
        """
        from poscount.plotting import PrevalenceDisplay

        return PrevalenceDisplay.from_predictions(
            list(self.answers.values()),
            list(self.answers),
            title=self.agreement_in_words,
            ax=ax,
        )

    def _repr_html_(self) -> str:
        return notebook.piece(
            notebook.paragraph(self.headline),
            notebook.paragraph(self.agreement_in_words),
            html_table(["by"], [([name], p) for name, p in self.answers.items()]),
            notebook.listed((f"{each.code}:", each.sentence) for each in self.findings),
        )

    def __repr__(self) -> str:
        parts = [repr(self.prevalence), f"model: {self.model!r}", self.agreement]
        codes = " ".join(warning.code for warning in self.findings)
        return f"Settlement({', '.join(parts)}{', findings: ' + codes if codes else ''})"


def _record(answer: Prevalence) -> dict[str, Any]:
    interval = answer.interval
    assert interval is not None
    return {
        "prevalence": float(answer),
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "count": answer.count,
    }


def settle(
    model: CountingQuantifier,
    frame: Any,
    labelled: Any,
    *,
    rater_errors: tuple[float, float] | None = None,
    cluster: str | None = None,
) -> Settlement:
    """Turn labels of rows that `audit` has drawn into a prevalence.

    Labels may be settled again after each further one: the interval holds however often one looks.

    Parameters
    ----------
    model : CountingQuantifier
        The model that the rows were drawn with.
    frame : pandas, polars or pyarrow frame
        The rows that they were drawn from, in the same order.
    labelled : pandas, polars or pyarrow frame
        What `audit` returned, with labels: yes and no, y and n, 1 and 0, true and false, positive
        and negative in any case; an empty cell is no label. The rows are drawn again, which shows
        whether the data are the same. With a second person's labels in "label_2", rows on which
        the two do not agree may be either.
    rater_errors : tuple of two floats, optional
        How often negatives are labelled as positive, and positives as negative, if it is known.
    cluster : str, optional
        The column that names the cluster of each row, such as its patient. The intervals are then
        for the population that the clusters are from, and no longer for all looks together.

    Returns
    -------
    Settlement

    See Also
    --------
    poscount.audit : The rows to label.

    Examples
    --------
    >>> import numpy as np, pandas as pd, poscount
    >>> rng = np.random.default_rng(0)
    >>> def rows(centre, n):
    ...     return pd.DataFrame(rng.normal(centre, 1, size=(n, 3)), columns=["a", "b", "c"])
    >>> model = poscount.RCQ(random_state=0).fit(rows(0, 300))
    >>> trap = pd.concat([rows(0, 500), rows(2, 1500)], ignore_index=True)
    >>> to_label = poscount.audit(model, trap, n=100)
    >>> to_label["label"] = to_label["audit_row"] < 500      # somebody who knows
    >>> settled = poscount.settle(model, trap, to_label)
    >>> settled.prevalence
    Prevalence(0.253, 95% interval [0.184, 0.361], n=2000, labels)
    >>> settled.agreement, settled.labels_needed(width=0.05)
    ('agree', 753)
    """
    table = read_label_table(as_frame_with_names(labelled), model)
    source = in_memory(frame)
    drawn = draw(model, source, table.design)
    settled = settle_sample(drawn, table, rater_errors=rater_errors)
    if cluster is None:
        return settled
    return settle_clusters(settled, model, source, drawn, table, cluster, rater_errors)


def settle_sample(
    drawn: LabelSample,
    table: LabelTable,
    *,
    rater_errors: tuple[float, float] | None = None,
) -> Settlement:
    """Do as `settle`, for rows that have been drawn again."""
    if rater_errors is not None and not (min(rater_errors) >= 0 and sum(rater_errors) < 1):
        raise InputError(
            f"The rates of wrong labels are {rater_errors[0]:g} and {rater_errors[1]:g}: neither "
            "may be below 0, and both together must be below 1.",
            option="rater_errors",
        )
    places = places_in(drawn, table)
    # In the order of the draws, whatever that of the table.
    given = np.argsort(places, kind="stable")
    given = given[[table.labels[i] is not None for i in given]]
    first = np.array([bool(table.labels[i]) for i in given])
    second = np.array(
        [
            bool(table.labels[i] if table.second_labels[i] is None else table.second_labels[i])
            for i in given
        ]
    )
    at = places[given]
    strata, of_rows = drawn.strata, (drawn.chance[at], drawn.stratum[at], drawn.weight[at])
    labels, higher = (
        Labels(strata.totals, strata.expected, *of_rows, positive)
        for positive in (first & second, first | second)
    )
    settled = _answer(drawn.prevalence, labels, higher, rater_errors)
    word = agreement(settled, drawn.prevalence)
    found: tuple[AnswerWarning, ...] = ()
    if word == "contradict":
        expected, n_labeled = drawn.strata.share_outside, drawn.prevalence.n_labeled
        where = positives_outside(labels, drawn.outside[at], expected, n_labeled)
        found = findings(labels, drawn.strata.looks_positive, settled, drawn.prevalence, where)
    groups = {}
    if drawn.strata.keys != [()]:
        for i, (key, by_model) in enumerate(zip(drawn.strata.keys, drawn.by_group, strict=True)):
            of = drawn.strata.group == i
            parts = labels.of_strata(of), higher.of_strata(of)
            groups[key] = _answer(by_model, *parts, rater_errors)
    # Rows of the data, not of the table: somebody may have edited it.
    chosen = [
        nw.maybe_reset_index(drawn.frame[np.sort(at[rows]).tolist()]).to_native()
        for rows in (first & second, ~first & ~second)
    ]
    return Settlement(
        settled,
        drawn.prevalence,
        word,
        (*found, *_differ(first, second), *_skipped(at)),
        _by_stratum(drawn, labels),
        chosen[0],
        chosen[1],
        groups,
        labels,
        drawn.places[at],
    )


def _by_stratum(drawn: LabelSample, labels: Labels) -> tuple[StratumLabels, ...]:
    strata = drawn.strata
    columns = (
        strata.rows,
        np.bincount(drawn.stratum, minlength=len(strata.rows)),
        labels.numbers,
        labels.in_strata(labels.positive).astype(int),
        strata.expected,
    )
    lines = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(StratumLabels(stratum, *line) for stratum, line in enumerate(lines, 1))


def _answer(
    by_model: Prevalence,
    lower: Labels,
    higher: Labels,
    rater_errors: tuple[float, float] | None,
) -> Prevalence:
    """The prevalence by labels, with doubtful rows as negatives and as positives."""
    evidence = Evidence(lower)
    other = evidence if (higher.positive == lower.positive).all() else Evidence(higher)
    value, distribution = distribution_of(evidence, other)
    if rater_errors is not None:
        value, distribution = corrected(value, distribution, rater_errors, by_model.n_unlabeled)
    return Prevalence(
        value,
        n_labeled=by_model.n_labeled,
        n_unlabeled=by_model.n_unlabeled,
        method="labels",
        distribution=distribution,
        level=by_model.level,
        total_weight=by_model.total_weight,
    )


def _differ(first: np.ndarray, second: np.ndarray) -> tuple[AnswerWarning, ...]:
    """Say on how many rows two people do not agree."""
    n = int((first != second).sum())
    if not n:
        return ()
    sentence = (
        f"The two labels of {n} row(s) are not the same. The interval allows for either; look at "
        "them together to make it narrower."
    )
    return (AnswerWarning("raters-differ", sentence, float(n)),)


def _skipped(at: np.ndarray) -> tuple[AnswerWarning, ...]:
    """Warn if labels are missing in between, and not only at the end."""
    skipped = int(at.max()) + 1 - len(at)
    if not skipped:
        return ()
    return (
        AnswerWarning(
            "skipped-labels",
            f"{skipped} row(s) before the last label have none. That does no harm if they were "
            "left out by chance; if they were hard to judge, the answer is biased.",
            float(skipped),
        ),
    )
