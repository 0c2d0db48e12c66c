"""The paper's four experiments: samples, methods, a runner that can be resumed, and its report.

Protocols know nothing about methods, the runner nothing about statistics, the report nothing about
running.
"""

from research.experiments.protocols import PROTOCOLS, artificial_prevalences
from research.experiments.runner import run
from research.experiments.store import Store

__all__ = ["PROTOCOLS", "Store", "artificial_prevalences", "run"]
