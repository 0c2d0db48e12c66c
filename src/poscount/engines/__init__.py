"""Counting outside of memory: rows from files, tables, clusters and streams, in batches.

An engine brings rows to a model, or a model to the rows. The methods decide what the counts mean,
and the front ends what is shown; neither belongs here.
"""

from poscount.engines.dispatch import count
from poscount.engines.sliding_windows import Window, windows

__all__ = ["Window", "count", "windows"]
