"""Data to try poscount on: loaders, and a small example that travels with the package.

Only data live here, and what reads, fetches or makes them; no method may be run here and nothing
may be tuned to one. The embedded files are never edited by hand: `make_example` writes them.
"""

from poscount.datasets.catalog import CATALOG, Entry, names
from poscount.datasets.dataset import DataSet
from poscount.datasets.directory import data_directory
from poscount.datasets.example import Example, example_path, load_example
from poscount.datasets.fetching import Fetched, fetch
from poscount.datasets.loading import load
from poscount.datasets.registered import register, registered, unregister

__all__ = [
    "CATALOG",
    "DataSet",
    "Entry",
    "Example",
    "Fetched",
    "data_directory",
    "example_path",
    "fetch",
    "load",
    "load_example",
    "names",
    "register",
    "registered",
    "unregister",
]
