"""Where the data sets lie: ``POSCOUNT_DATA``, or a cache of the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "POSCOUNT_DATA"


def data_directory() -> Path:
    r"""Directory of the stored data sets and of the list of registered ones.

    It need not exist. Without the environment variable ``POSCOUNT_DATA`` it is the place for
    caches of this platform: ``~/.cache/poscount`` (or ``$XDG_CACHE_HOME/poscount``) on Linux,
    ``~/Library/Caches/poscount`` on macOS, ``%LOCALAPPDATA%\poscount`` on Windows.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "poscount"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "poscount"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say to ignore a path that is not absolute.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "poscount"
