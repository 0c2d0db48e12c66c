"""Modules whose examples need a library that this machine does not have are not collected."""

from importlib.util import find_spec

collect_ignore = [
    f"src/poscount/interop/{library}.py"
    for library in ("mlquantify", "quapy")
    if find_spec(library) is None
]
