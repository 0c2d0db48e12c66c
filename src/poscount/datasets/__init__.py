"""Data to try poscount on: loaders, and a small example that travels with the package.

Only data live here, and what reads or makes them; no method may be run here and nothing may be
tuned to one. The embedded files are never edited by hand: `make_example` writes them.
"""

from poscount.datasets.example import Example, example_path, load_example

__all__ = ["Example", "example_path", "load_example"]
