"""Displays: pictures of results, drawn with matplotlib, returning axes.

No statistics here: a display draws what it is given.
"""

from poscount.plotting.pat_curve import PATCurveDisplay
from poscount.plotting.prevalences import PrevalenceDisplay
from poscount.plotting.sample_sizes import SampleSizeDisplay
from poscount.plotting.score_distributions import ScoreDistributionDisplay

__all__ = [
    "PATCurveDisplay",
    "PrevalenceDisplay",
    "SampleSizeDisplay",
    "ScoreDistributionDisplay",
]
