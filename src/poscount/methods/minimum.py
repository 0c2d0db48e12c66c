"""Minimum, the smallest estimate of several quantifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from poscount.base.quantifier import Quantifier
from poscount.data.rows import InputSupport, Rows
from poscount.methods.pat import PAT
from poscount.results.distribution import Distribution
from poscount.results.prevalence import Prevalence
from poscount.seeds import stream
from poscount.storage.schema import Field, ListOf, Part, require

__all__ = ["Minimum"]


class Minimum(Quantifier):
    r"""Takes the smallest estimate of several quantifiers.

    .. math:: \hat p = \min_j \hat p_j

    Negatives that look like positives make an estimate too high, and different quantifiers are
    misled by different negatives, so the smallest estimate was misled least. The paper takes the
    smaller of PAT and ExTIcE. If no quantifier is misled, the smallest of several noisy estimates
    is a little too low.

    Parameters
    ----------
    quantifiers : sequence of quantifiers, optional
        The members; each is fitted on all positives and applied to each sample. If None, the
        paper's ``[PAT(), ExTIcE()]``.
    random_state : int, RandomState, Generator or None
        Seed for members that have none; each gets a different one.

    Attributes
    ----------
    quantifiers_ : list
        The fitted members, in order.

    See Also
    --------
    poscount.PAT, poscount.ExTIcE : Its members by default.

    Notes
    -----
    The interval goes from the smallest lower to the smallest upper end, if every member gives an
    interval (`Bootstrap` gives one to members that have none): it covers the truth whenever the
    intervals of all members do. Its level is the lowest of theirs. The warnings are those of all
    members, because doubt about one estimate is doubt about which is the smallest. `details` has
    the results of the `members` (in order, each a `Prevalence` with its own interval, warnings and
    details) and the index of the `smallest`, the first one of equal ones.

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

    LEARNED: ClassVar[Mapping[str, Field]] = {"quantifiers_": ListOf(Part())}

    def check_learned(self) -> None:
        """Raise ValueError unless the members have the model's features."""
        super().check_learned()
        kinds = [type(member) for member in self._members()]
        require([type(member) for member in self.quantifiers_] == kinds, "it has other members.")
        for member in self.quantifiers_:
            require(member.feature_names == self.feature_names, "a member has other features.")

    def __init__(
        self, quantifiers: Sequence[Quantifier] | None = None, *, random_state: Any = None
    ) -> None:
        self.quantifiers = quantifiers
        self.random_state = random_state

    @property
    def gives_interval(self) -> bool:
        """Whether all members give intervals."""
        return all(member.gives_interval for member in self._members())

    def _members(self) -> list[Quantifier]:
        if self.quantifiers is None:
            # Not at the top, because its kernels take long to import.
            from poscount.methods.pu.extice import ExTIcE

            return [PAT(), ExTIcE()]
        for member in self.quantifiers:
            if not isinstance(member, Quantifier):
                raise ValueError(
                    f"quantifiers must be a list of quantifiers, got {member!r} in it."
                )
        if not self.quantifiers:
            raise ValueError("quantifiers is empty: it needs at least one quantifier.")
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
            # By name, because dates are features only if they were asked for.
            member.fit(rows.data, features=list(rows.schema) or None)

    def _quantify(self, rows: Rows) -> Prevalence:
        answers = [member.quantify(rows.data) for member in self.quantifiers_]
        smallest = int(np.argmin(answers))
        known = [each.distribution.quantiles for each in answers if each.distribution is not None]
        all_known = len(known) == len(answers)
        return Prevalence(
            float(answers[smallest]),
            n_labeled=self.n_labeled_,
            n_unlabeled=len(rows),
            method=type(self).__name__,
            distribution=Distribution(np.min(known, axis=0)) if all_known else None,
            level=min(answer.level for answer in answers),
            warnings=dict.fromkeys(each for answer in answers for each in answer.warnings),
            details={"seed": self.seed_, "members": answers, "smallest": smallest},
        )
