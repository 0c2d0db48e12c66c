"""Displays: pictures of results, drawn with matplotlib, returning axes.

No statistics here: a display draws what it is given.
"""

from poscount.plotting.critical_difference import CriticalDifferenceDisplay
from poscount.plotting.curves import Curve, CurvesDisplay
from poscount.plotting.dots import DotsDisplay
from poscount.plotting.prevalences import PrevalenceDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "Curve",
    "CurvesDisplay",
    "DotsDisplay",
    "PrevalenceDisplay",
]
