"""Reusable quantifiers: all is learned from the positives, a sample is only counted.

One method a file. What needs the positives and the sample together lives in `transductive`.
"""

from poscount.reusable.odin import ODIn
from poscount.reusable.pat import PAT
from poscount.reusable.rcq import RCQ

__all__ = ["PAT", "RCQ", "ODIn"]
