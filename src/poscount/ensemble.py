"""Minimum, several quantifiers that each err upwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from poscount.base import Quantifier
from poscount.prevalence import Interval, Prevalence
from poscount.reusable.pat import PAT
from poscount.seeds import stream
from poscount.validation import InputSupport, Rows

__all__ = ["Minimum"]


class Minimum(Quantifier):
    r"""The smallest answer of several quantifiers.

    .. math:: \hat p = \min_j \hat p_j

    Negatives that look like positives make a quantifier answer too much, and different
    quantifiers are misled by different negatives: the smallest answer was misled least. The paper
    takes the smaller of PAT and ExTIcE. Where none is misled, the smallest of several noisy
    answers is a little too small.

    Parameters
    ----------
    quantifiers : sequence of quantifiers, optional
        The members; each learns from all positives and answers for each sample. The paper's
        ``[PAT(), ExTIcE()]`` if None.
    random_state : int, RandomState, Generator or None
        Seed of the members that have none; each gets its own.

    Attributes
    ----------
    quantifiers_ : list
        The fitted members, in order.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    The interval reaches from the smallest lower to the smallest upper end, if every member gives
    one (transductive members do with `bootstrap`): it holds the truth whenever all members'
    intervals do. The warnings are those of all members, because a doubt about one answer is a
    doubt about which is the smallest. `details` holds the members' answers (`members`, in order,
    each a `Prevalence` with its own interval, warnings and details) and the index of the
    `smallest`; of equal answers the first counts.

    References
    ----------
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data".

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import BBE, PAT, Minimum
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 2])
    >>> p = Minimum([PAT(), BBE()], random_state=0).fit(positives).quantify(sample)
    >>> p
    Prevalence(0.293, n=1000, Minimum)
    >>> [round(float(member), 3) for member in p.details["members"]]
    [0.293, 0.306]
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "quantifiers": [list, tuple, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self, quantifiers: Sequence[Quantifier] | None = None, *, random_state: Any = None
    ) -> None:
        self.quantifiers = quantifiers
        self.random_state = random_state

    def _members(self) -> list[Quantifier]:
        if self.quantifiers is None:
            # Here and not above: its kernels take their time to import.
            from poscount.transductive.extice import ExTIcE

            return [PAT(), ExTIcE()]
        for member in self.quantifiers:
            if not isinstance(member, Quantifier):
                raise ValueError(f"quantifiers is a list of quantifiers, but {member!r} is none.")
        if not self.quantifiers:
            raise ValueError("quantifiers is empty: at least one quantifier is needed.")
        return list(self.quantifiers)

    def _input_support(self) -> InputSupport:
        # Every member gets the same rows and checks them again for itself.
        each = [member._input_support() for member in self._members()]
        return InputSupport(*(all(taken) for taken in zip(*each, strict=True)))

    def _learn(self, rows: Rows) -> None:
        self.quantifiers_ = [clone(member) for member in self._members()]
        for i, member in enumerate(self.quantifiers_):
            if member.random_state is None:
                seed = stream(self.seed_, f"member {i}").integers(2**32)
                member.set_params(random_state=int(seed))
            member.fit(rows.data)

    def _quantify(self, rows: Rows) -> Prevalence:
        answers = [member.quantify(rows.data) for member in self.quantifiers_]
        smallest = int(np.argmin(answers))
        return Prevalence(
            float(answers[smallest]),
            n_labeled=self.n_labeled_,
            n_unlabeled=len(rows),
            method=type(self).__name__,
            interval=_interval(answers),
            warnings=dict.fromkeys(caution for answer in answers for caution in answer.warnings),
            details={"seed": self.seed_, "members": answers, "smallest": smallest},
        )


def _interval(answers: list[Prevalence]) -> Interval | None:
    intervals = [answer.interval for answer in answers if answer.interval]
    if len(intervals) < len(answers):
        return None
    low, high, level = (
        min(getattr(interval, end) for interval in intervals) for end in ("low", "high", "level")
    )
    return Interval(low, high, level)
