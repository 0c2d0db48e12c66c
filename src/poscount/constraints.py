"""What a parameter may be: scikit-learn's declarations.

They are private there, so that this is the one file to change when they do.
"""

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions"]
