"""Displays: pictures of results, drawn with matplotlib, returning axes.

No statistics here: a display draws what it is given.
"""

from poscount.plotting.prevalences import PrevalenceDisplay

__all__ = ["PrevalenceDisplay"]
