"""Change between groups of rows: the same regions for all of them, so that shared errors cancel.

Comparisons, series and detectors live here. No files and no pictures: those are in `app` and
`plotting`.
"""

from poscount.change.detector import ChangeDetector, Reading
from poscount.change.series import trend
from poscount.change.trend_result import Change, Slope, Step, Trend, TrendPoint

__all__ = ["Change", "ChangeDetector", "Reading", "Slope", "Step", "Trend", "TrendPoint", "trend"]
