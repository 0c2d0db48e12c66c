"""What a parameter may be: scikit-learn's declarations.

They are private there, so that this is the one file to change when they do.
"""

from numbers import Integral

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["N_JOBS", "HasMethods", "Interval", "StrOptions"]

# Numbers of threads; negative ones are counted from the number of cores, and 0 means nothing.
N_JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]
