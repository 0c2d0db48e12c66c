"""ExTIcE, exhaustive tree induction for c estimation."""

from __future__ import annotations

from poscount.methods.pu.tice import TIcE

__all__ = ["ExTIcE"]


class ExTIcE(TIcE):
    r"""Exhaustive TIcE: as `TIcE`, but regions are split by every feature, not by one.

    Regions overlap and many more of them are searched, so that the best one comes closer to a
    region without any negatives. ExTIcE stays accurate where negatives look like part of the
    positives, as long as some region of the positives has no negatives.

    The search is that of `TIcE` (the same bound
    :math:`labelled / size - \sqrt{c (1-c) (1-\delta) / (\delta\;size)}`, folds and passes), with
    three differences: the two halves of *every* feature at its median are queued, regions have more
    than 30 rows, and the search ends at a region whose bound on the tree part is not positive.

    Degenerate samples: a sample equal to the positives, or one whose features do not vary, gives
    about 1. A sample far from all positives gives more than 0, by the width of the bound (0.1 for
    200 positives, 0.5 for 20). With fewer than 150 rows in all, no fold has 30 rows: nothing is
    searched, and the answer is about 1 whatever the rows are.

    Assumes that the labelled positives are typical of those in the sample (SCAR), that
    somewhere they are free of negatives (irreducibility), and that both were recorded alike.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        Seed of the folds, and of the choice between ties.

    See Also
    --------
    poscount.TIcE : Looks at the best feature of each node.
    poscount.RCQ : The default; has an interval and a verdict.

    Notes
    -----
    For `details`, numba and categories see `TIcE`.

    References
    ----------
    D. dos Reis, M. de Souto, E. de Sousa, G. Batista, "Quantifying With Only Positive Training
    Data".

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import ExTIcE
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> p = ExTIcE(random_state=0).fit(positives).quantify(sample)
    >>> p
    Prevalence(0.329, n=1000, ExTIcE)
    >>> print(p.details["region"])
    x2 <= 1.06423 and -0.0697955 < x1 <= 0.710291 (161 rows, 114 labelled)
    """

    _exhaustive = True
