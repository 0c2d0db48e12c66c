"""What a parameter may be: scikit-learn's declarations, which are private there."""

from poscount.scikit import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions"]
