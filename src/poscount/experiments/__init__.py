"""The paper's four experiments: samples, methods, a resumable runner, and the report of a run.

Protocols know nothing of methods, the runner nothing of statistics, the report nothing of running.
"""

from poscount.experiments.protocols import PROTOCOLS, artificial_prevalences
from poscount.experiments.runner import run
from poscount.experiments.store import Store

__all__ = ["PROTOCOLS", "Store", "artificial_prevalences", "run"]
