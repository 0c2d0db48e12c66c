"""
How many rows for how small an error?
=====================================

The error to expect of PAT, by the number of unlabeled rows, for three numbers of labelled
positives. Each line levels off: from there on only more positives help.
"""

from poscount.plotting import SampleSizeDisplay
from poscount.theory import plan

SampleSizeDisplay.from_plan(plan(0.02, prevalence=0.3))
