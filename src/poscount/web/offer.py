"""The methods that the page offers."""

from poscount import registry

# Time that grows faster than the number of rows, or seconds for a small sample: those methods are
# for the command line.
_SLOW = ("en", "pe", "km1", "km2")

METHODS = sorted(
    (name for name in registry.METHODS if name not in _SLOW),
    key=lambda name: name != registry.DEFAULT_METHOD,
)
