"""The data sets of the experiments: the paper's, constructed ones, and files of your own.

Only data live here, and the code that reads, fetches or generates them. No method is run here, and
nothing is tuned to one.
"""

from research.datasets.catalog import CATALOG, Entry
from research.datasets.dataset import DataSet
from research.datasets.directory import data_directory
from research.datasets.fetching import fetch
from research.datasets.loading import load
from research.datasets.vowels_network import sample_vowels_network

__all__ = [
    "CATALOG",
    "DataSet",
    "Entry",
    "data_directory",
    "fetch",
    "load",
    "sample_vowels_network",
]
