"""The paper's experiments, reproduced: ``python -m research --help``.

Data sets (`datasets`), the four experiments on them (`experiments`), the paper's own numbers
(`published`), what a report makes of both (`report`), what poscount's own calibrations are learned
from (`shipped_calibrations`), and notes on how some constants were chosen (`tuning`). It is part of
the repository and not of the package: it imports poscount, and poscount imports nothing of it.
"""
