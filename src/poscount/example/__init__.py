"""The embedded example: nine nights of a simulated mosquito trap.

The files in `data` are never edited by hand: `simulate` writes them.
"""

from poscount.example.loading import Example, example_path, load_example

__all__ = ["Example", "example_path", "load_example"]
