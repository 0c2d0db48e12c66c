"""Errors, intervals and warnings on data whose truth is known: the tables of the docs."""
