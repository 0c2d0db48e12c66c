"""Displays: pictures of results, drawn with matplotlib, returning axes.

No statistics here: a display draws what it is given.
"""

from poscount.plotting.critical_difference import CriticalDifferenceDisplay
from poscount.plotting.curves import Curve, CurvesDisplay
from poscount.plotting.dots import DotsDisplay
from poscount.plotting.pat_curve import PATCurveDisplay
from poscount.plotting.prevalences import PrevalenceDisplay
from poscount.plotting.regions import RegionDisplay
from poscount.plotting.sample_sizes import SampleSizeDisplay
from poscount.plotting.score_distributions import ScoreDistributionDisplay
from poscount.plotting.shares import SharesDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "Curve",
    "CurvesDisplay",
    "DotsDisplay",
    "PATCurveDisplay",
    "PrevalenceDisplay",
    "RegionDisplay",
    "SampleSizeDisplay",
    "ScoreDistributionDisplay",
    "SharesDisplay",
]
