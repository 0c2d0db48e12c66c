"""From a results file to a report: tables, tests and pictures of experiments.

Nothing is evaluated here; what has been is read from the results file.
"""
