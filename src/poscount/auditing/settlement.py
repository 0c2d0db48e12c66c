"""What labels say about a prevalence, beside what the model says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from poscount.auditing.agreement import Agreement
from poscount.auditing.stratified import Labels, labels_needed
from poscount.errors import InputError
from poscount.results import notebook
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
            "findings": [asdict(caution) for caution in self.findings],
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
        codes = " ".join(caution.code for caution in self.findings)
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
