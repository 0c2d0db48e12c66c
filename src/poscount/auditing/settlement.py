"""From labels to a prevalence, beside what the model says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.auditing.batches import in_memory
from poscount.auditing.label_table import LABEL, LabelTable, places_in, read_label_table
from poscount.auditing.labels import (
    ALIKE,
    Agreement,
    Labels,
    agreement,
    combine,
    distance,
    findings,
    labels_needed,
    positives_outside,
    score_distribution,
    share,
)
from poscount.auditing.sampling import FEWEST, LabelSample, Strata, draw
from poscount.base.counting import CountingQuantifier
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError
from poscount.results import notebook
from poscount.results.distribution import Distribution
from poscount.results.prevalence import Prevalence
from poscount.results.tables import html_table
from poscount.results.verdict import AnswerWarning

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
        By the labels alone: it assumes that they are right and that the rows were drawn as stated,
        and nothing about negatives, positives or the model.
    combined : Prevalence or None
        Of labels and model, where they agree and it is narrower.
    model : Prevalence
        By the model alone.
    agreement : {"agree", "unclear", "contradict"}
        Whether the two answers are within 1, or more than 1.96, standard deviations.
    findings : tuple of AnswerWarning
        Which assumption broke, and what to be careful about.
    strata : tuple of StratumLabels
    positives, negatives : frame of the caller's kind
        Rows with these labels, to be given back as labelled positives and known negatives.
    """

    prevalence: Prevalence
    combined: Prevalence | None
    model: Prevalence
    agreement: Agreement
    findings: tuple[AnswerWarning, ...]
    strata: tuple[StratumLabels, ...]
    positives: Any
    negatives: Any

    @property
    def answer(self) -> Prevalence:
        """The combined prevalence where there is one, else that of the labels."""
        return self.prevalence if self.combined is None else self.combined

    @property
    def answers(self) -> dict[str, Prevalence]:
        """The answers that there are, by what they are made from."""
        found = {
            f"{self.n_labelled} labels alone": self.prevalence,
            "labels and model": self.combined,
            "model alone": self.model,
        }
        return {name: p for name, p in found.items() if p is not None}

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
        """Labels in all, not in addition, for an interval of the labels alone of this width."""
        if not 0 < width < 1:
            raise InputError(
                f"The width of an interval is between 0 and 1, such as 0.05, not {width}.",
                option="width",
            )
        assert self.prevalence.interval is not None
        columns = ([getattr(s, name) for s in self.strata] for name in Labels._fields)
        labels = Labels(*map(np.array, columns))
        return labels_needed(labels, width, self.prevalence.interval.level)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, in types that JSON knows."""
        return {
            "answer": "labels" if self.combined is None else "combined",
            "labels": _record(self.prevalence),
            "combined": None if self.combined is None else _record(self.combined),
            "model": _record(self.model),
            "agreement": self.agreement,
            "findings": [asdict(warning) for warning in self.findings],
            "n_rows": self.prevalence.n_unlabeled,
            "n_drawn": self.n_drawn,
            "n_labelled": self.n_labelled,
            "strata": [stratum._asdict() for stratum in self.strata],
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
            notebook.paragraph(self.agreement_in_words),
            html_table(["by"], [([name], p) for name, p in self.answers.items()]),
            notebook.listed((f"{each.code}:", each.sentence) for each in self.findings),
        )

    def __repr__(self) -> str:
        parts = [repr(self.prevalence), f"model: {self.model!r}", self.agreement]
        if self.combined is not None:
            parts.insert(1, f"combined: {self.combined!r}")
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


def settle(model: CountingQuantifier, frame: Any, labelled: Any) -> Settlement:
    """Turn labels of rows that `audit` has drawn into a prevalence.

    Parameters
    ----------
    model : CountingQuantifier
        The model that the rows were drawn with.
    frame : pandas, polars or pyarrow frame
        The rows that they were drawn from, in the same order.
    labelled : pandas, polars or pyarrow frame
        What `audit` returned, with labels: yes and no, y and n, 1 and 0, true and false, positive
        and negative in any case; an empty cell is no label. The rows are drawn again, which shows
        whether the data are the same.

    Returns
    -------
    Settlement

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
    Prevalence(0.257, 95% interval [0.219, 0.296], n=2000, labels)
    >>> settled.agreement, settled.labels_needed(width=0.05)
    ('agree', 254)
    """
    table = read_label_table(as_frame_with_names(labelled), model)
    return settle_sample(draw(model, in_memory(frame), table.size, table.seed), table)


def settle_sample(drawn: LabelSample, table: LabelTable) -> Settlement:
    """Do as `settle`, for rows that have been drawn again."""
    places = places_in(drawn, table)
    given = np.array([label is not None for label in table.labels])
    positive = np.array([bool(label) for label in table.labels])
    at, positive = places[given], positive[given]
    labels = _count_labels(drawn, at, positive)
    by_model = drawn.prevalence
    by_labels = _answer(by_model, share(labels), score_distribution(labels), "labels")
    outside = _in_strata(drawn, at[positive & drawn.outside[at]])
    expected = drawn.strata.share_outside
    where = positives_outside(labels, outside, expected, by_model.n_labeled)
    found = findings(labels, drawn.strata, by_labels, by_model, where)
    word = agreement(distance(by_labels, by_model))
    doubted = any(warning.severity != "note" for warning in by_model.warnings)
    alike = word == "agree" and abs(where.statistic) <= ALIKE
    combined = combine(by_labels, by_model) if alike and not doubted else None
    # Rows of the data, not of the table: somebody may have edited it.
    chosen = [drawn.frame[np.sort(at[positive == which]).tolist()] for which in (True, False)]
    return Settlement(
        by_labels,
        None if combined is None else _answer(by_model, *combined, "labels and model"),
        by_model,
        word,
        (*found, *_skipped(at)),
        _by_stratum(labels, drawn.strata),
        *(nw.maybe_reset_index(rows).to_native() for rows in chosen),
    )


def _by_stratum(labels: Labels, strata: Strata) -> tuple[StratumLabels, ...]:
    columns = (labels.rows, strata.drawn, labels.labelled, labels.positives, strata.expected)
    lines = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(StratumLabels(stratum, *line) for stratum, line in enumerate(lines, 1))


def _count_labels(drawn: LabelSample, at: np.ndarray, positive: np.ndarray) -> Labels:
    """Labels in each stratum, of which there must be enough."""
    strata = drawn.strata
    labelled = _in_strata(drawn, at)
    short = labelled < np.minimum(strata.rows, FEWEST)
    if short.any():
        stratum = int(np.argmax(short))
        # The first rows of the table hold this many of each stratum.
        first = int(np.minimum(strata.rows, FEWEST).sum())
        raise InputError(
            f"{len(at)} label(s) are too few: stratum {stratum + 1} has {labelled[stratum]} and "
            f"needs {min(FEWEST, strata.rows[stratum])}; label at least the first {first} rows "
            "that audit listed.",
            column=LABEL,
        )
    return Labels(strata.rows, labelled, _in_strata(drawn, at[positive]))


def _in_strata(drawn: LabelSample, at: np.ndarray) -> np.ndarray:
    """How many of some of the rows drawn are in each stratum."""
    return np.bincount(drawn.stratum[at], minlength=len(drawn.strata.rows))


def _answer(
    by_model: Prevalence, value: float, distribution: Distribution, method: str
) -> Prevalence:
    return Prevalence(
        value,
        n_labeled=by_model.n_labeled,
        n_unlabeled=by_model.n_unlabeled,
        method=method,
        distribution=distribution,
        level=by_model.level,
    )


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
