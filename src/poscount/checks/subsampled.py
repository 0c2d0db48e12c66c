"""Only part of the sample was used: learning from all of its rows would take too long."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome


def _look(evidence: Evidence) -> Outcome | Missing:
    n, used = evidence.n_rows, evidence.n_rows_used
    if isinstance(n, Missing) or isinstance(used, Missing) or used == n:
        return Missing()
    sentence = (
        f"The estimate is from {used:,} of the {n:,} rows of the sample, drawn at random, and the "
        "interval is as wide as for a sample of that size."
    )
    return Outcome("notice", used, None, sentence, caution=used)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    return False  # what is counted is counted in full


SUBSAMPLED = Check(code="subsampled", look=_look, concerns=_concerns)
