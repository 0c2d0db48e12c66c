"""Workers of a cluster must run the poscount that sends them work."""

from __future__ import annotations

import poscount


def check_version(sent_by: str, cluster: str) -> None:
    """Raise an ImportError unless the sender's version is the one installed here.

    Examples
    --------
    >>> check_version(poscount.__version__, "Spark")
    """
    if sent_by != poscount.__version__:
        raise ImportError(
            f"A worker of {cluster} has poscount {poscount.__version__}, but {sent_by} sent it "
            f"work: install poscount {sent_by} on every worker."
        )
