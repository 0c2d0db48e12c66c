"""Data to try poscount on: the paper's data sets, your own, and a small embedded example.

Only data live here, and the code that reads, fetches or generates them. No method is run here, and
nothing is tuned to one. The embedded files are never edited by hand: `make_example` writes them.
"""

from poscount.datasets.catalog import CATALOG, Entry, names
from poscount.datasets.dataset import DataSet
from poscount.datasets.directory import data_directory
from poscount.datasets.example import Example, example_path, load_example
from poscount.datasets.fetching import Fetched, fetch
from poscount.datasets.loading import load, register, registered, unregister
from poscount.datasets.vowels_network import sample_vowels_network

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
    "sample_vowels_network",
    "unregister",
]
