"""Transductive quantifiers (PU prior estimators): positives and sample are looked at together.

One method a file. What learns from positives alone and only counts a sample lives in `reusable`.
"""
