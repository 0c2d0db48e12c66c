"""Counting somewhere else than in memory: rows from files, tables and clusters, in batches.

Engines bring rows to a model or a model to its rows. What the counts mean is decided by the
methods, and what is printed by the command line; neither may live here.
"""

from poscount.engines.dispatch import count
from poscount.engines.stream import Window, windows

__all__ = ["Window", "count", "windows"]
