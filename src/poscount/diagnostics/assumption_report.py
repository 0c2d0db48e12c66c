"""The assumption report: all reasons to doubt an estimate, and what it would be under others."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from poscount.base.quantifier import Quantifier
from poscount.change.two_samples import Comparison, compare_samples
from poscount.counts.counts import Counts
from poscount.diagnostics.pictures import Drawing, drawings
from poscount.diagnostics.report_page import NO_PROOF, html_page
from poscount.errors import InputError
from poscount.methods.pu.trcq import TRCQ
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.rcq import RCQ
from poscount.methods.regions.subclass_rcq import SubclassRCQ
from poscount.results import notebook
from poscount.results.prevalence import Prevalence
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.verdict import SEVERITIES, AnswerWarning, Verdict, verdict
from poscount.results.what_if import WhatIf
from poscount.storage.writer import write_whole


@dataclass(frozen=True)
class Diagnosis:
    """An estimate with all that speaks against it.

    Attributes
    ----------
    prevalence : Prevalence
        The estimate for the sample.
    by_rcq : Prevalence or None
        What RCQ says, whose checks see more, if the method is another one and the positives are
        given.
    comparison : Comparison or None
        With a second sample.
    what_if : WhatIf or None
        The answer under each assumption that the data cannot settle, as far as it can be told:
        kinds of positives need the positives.
    pictures : tuple of Drawing
    """

    prevalence: Prevalence
    by_rcq: Prevalence | None = None
    comparison: Comparison | None = None
    what_if: WhatIf | None = None
    pictures: tuple[Drawing, ...] = field(default=(), compare=False, repr=False)

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """Those of the estimate, and those that only RCQ could give, the worst first."""
        found = {warning.code: warning for warning in self.prevalence.warnings}
        if self.by_rcq is not None:
            found = {warning.code: warning for warning in self.by_rcq.warnings} | found
        order = SEVERITIES[::-1]
        return tuple(sorted(found.values(), key=lambda warning: order.index(warning.severity)))

    @property
    def verdict(self) -> Verdict:
        """Whether the assumptions look broken, by all of them."""
        return verdict(self.warnings)

    def __str__(self) -> str:
        p = self.prevalence
        head = [repr(p), str(self.verdict), *knowledge_in_words(p.details)]
        if self.by_rcq is not None:
            head.append(f"RCQ, from the same positives: {self.by_rcq!r}")
        parts = ["\n".join(head), *([str(self.what_if)] if self.what_if else [])]
        parts += [f"{w.severity.upper()}: {w.code}\n  {w.sentence}" for w in self.warnings]
        if self.comparison is not None:
            parts.append(f"SECOND SAMPLE\n  {self.comparison}")
        return "\n\n".join([*parts, NO_PROOF])

    def _repr_html_(self) -> str:
        second = [] if self.comparison is None else [("Second sample:", str(self.comparison))]
        return notebook.piece(
            self.prevalence.replace(warnings=self.warnings)._repr_html_(),
            *([] if self.what_if is None else [self.what_if._repr_html_()]),
            notebook.listed(second),
            notebook.paragraph(NO_PROOF, small=True),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pictures, in types that JSON knows."""
        return {
            "verdict": asdict(self.verdict),
            "prevalence": self.prevalence.to_dict(),
            "by_rcq": self.by_rcq.to_dict() if self.by_rcq is not None else None,
            "comparison": self.comparison.to_dict() if self.comparison else None,
            "what_if": self.what_if.to_dict() if self.what_if else None,
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one HTML file that includes its pictures; they need matplotlib.

        Parameters
        ----------
        path : path, optional
            Where to write it; if that fails, no part of it is left there.

        Returns
        -------
        str
            The page.
        """
        text = html_page(self)
        if path is not None:
            write_whole(path, text.encode())
        return text


def diagnose(
    model: Quantifier, sample: Any, *, positives: Any = None, reference: Any = None
) -> Diagnosis:
    """Tell all that speaks against what a model says about a sample.

    The report has the verdict and the warnings of the answer, the answer under the assumptions
    that the data cannot settle, and pictures. A report without warnings is no proof: negatives that
    look exactly like positives cannot be detected.

    Parameters
    ----------
    model : fitted quantifier
        Of any method; most is known about RCQ.
    sample : array or frame
        Unlabeled rows, as for `quantify`.
    positives : array or frame, optional
        The positives that the model was fitted on. A reusable model does not keep them. With them,
        kinds of positives can be counted, and other methods than RCQ get RCQ's checks as well.
    reference : array or frame, optional
        A second sample with the same kinds of positives and negatives, but a different prevalence:
        it tells overlap from drift, which one sample cannot (`compare_samples`).

    Returns
    -------
    Diagnosis

    See Also
    --------
    poscount.compare_samples : Two samples tell overlap from drift.

    Examples
    --------
    Half of the positives are around 0, half around 3; all negatives are around 3, too:

    >>> import numpy as np
    >>> from poscount import RCQ, diagnose
    >>> rng = np.random.default_rng(0)
    >>> def around(centre, n):
    ...     return rng.normal(size=(n, 3)) + centre
    >>> positives = np.vstack([around(0, 250), around(3, 250)])
    >>> sample = np.vstack([around(0, 150), around(3, 150), around(3, 700)])
    >>> report = diagnose(RCQ(random_state=0).fit(positives), sample)
    >>> [reading.code for reading in report.what_if]
    ['typical', 'both']
    """
    if isinstance(model, MultiRCQ):
        raise InputError(
            "The report is about one target, and this model has "
            f"{len(model.targets_)}: fit RCQ on the positives of one of them."
        )
    if positives is not None:
        _check_positives(model, positives)
    regions: PositivesQuantifier | None = None
    by_rcq = None
    if isinstance(model, PositivesQuantifier):
        regions, rows = model, model._sample(sample, allow_empty=False)
        counts = Counts(model._count_rows(rows, None, 1)[0], len(rows), model.hash_)
        answer = model._told_of_rows(rows, model.estimate(counts))
    else:
        answer = model.quantify(sample)
        if positives is not None:
            regions = _rcq_of(model, positives)
            counts = regions.count(sample)
            by_rcq = None if isinstance(model, TRCQ) else regions.estimate(counts)
    if regions is None:
        if reference is not None:
            raise InputError(
                "A second sample is compared by RCQ's regions: give the positives, too.",
                option="positives",
            )
        what_if = _what_if(model, answer, sample, None)
        return Diagnosis(answer, what_if=what_if, pictures=tuple(drawings(answer)))
    return Diagnosis(
        answer,
        by_rcq,
        None if reference is None else compare_samples(regions, counts, regions.count(reference)),
        _what_if(model, answer if by_rcq is None else by_rcq, sample, positives),
        tuple(drawings(answer, regions, counts)),
    )


def _check_positives(model: Quantifier, positives: Any) -> None:
    part = getattr(model, "part_", None)
    n_given = model.n_labeled_ if part is None else part.n_positives_in_
    n = len(model._sample(positives))
    if n != n_given:
        raise InputError(
            f"These are {n} positives, but the model was fitted on {n_given}: give those.",
            option="positives",
        )


def _rcq_of(model: Quantifier, positives: Any) -> RCQ:
    """RCQ of the positives that another method has learned from."""
    try:
        return RCQ(random_state=model.seed_).fit(positives, features=_features(model))
    except InputError as error:
        raise InputError(
            f"RCQ cannot learn from these positives: {error} Without them, the report has what "
            f"{type(model).__name__} can tell.",
            option="positives",
            leave_out=True,
        ) from error


def _features(model: Quantifier) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else names.tolist()


def _what_if(model: Quantifier, answer: Prevalence, sample: Any, positives: Any) -> WhatIf | None:
    """The answer under each assumption that can be told; None without regions.

    One set of regions cannot tell it where kinds of positives may have other shares: it needs a
    count of each kind, so `SubclassRCQ` is fitted for it.
    """
    if "what_if" not in answer.details:
        return None
    found = answer.what_if()
    if positives is None or any(reading.code == "recognisable" for reading in found):
        return found
    kinds = SubclassRCQ(confidence=answer.level, random_state=model.seed_).fit(
        positives,
        unlabeled=sample if "learned_high" in answer.details else None,
        features=_features(model),
    )
    if not kinds.subclass_parts_:
        return found
    return found.having(kinds.quantify(sample).what_if()["recognisable"])
