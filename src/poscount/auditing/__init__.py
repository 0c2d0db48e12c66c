"""A few labels that settle a doubt: rows drawn to be labelled, and what their labels say.

Rows come in batches, wherever they are; no reading of files may be here.
"""

from __future__ import annotations

from poscount.auditing.label_table import audit
from poscount.auditing.likely import likely_positives
from poscount.auditing.settlement import Settlement, settle

__all__ = ["Settlement", "audit", "likely_positives", "settle"]
