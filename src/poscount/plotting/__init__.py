"""Displays: pictures of results, drawn with matplotlib; and the frame of HTML pages.

No statistics here: a display draws the numbers it is given.
"""

from poscount.plotting.evaluations import EvaluationDisplay
from poscount.plotting.prevalences import PrevalenceDisplay
from poscount.plotting.regions import RegionDisplay, SharesDisplay
from poscount.plotting.scores import PATCurveDisplay, ScoreDistributionDisplay
from poscount.plotting.target_shares import TargetSharesDisplay
from poscount.plotting.trends import TrendDisplay

__all__ = [
    "EvaluationDisplay",
    "PATCurveDisplay",
    "PrevalenceDisplay",
    "RegionDisplay",
    "ScoreDistributionDisplay",
    "SharesDisplay",
    "TargetSharesDisplay",
    "TrendDisplay",
]
