"""Transductive quantifiers (PU prior estimators), which need the positives and the sample together.

One method a file. Methods that learn from positives alone and only count a sample are in
`poscount.methods` and `poscount.methods.regions`.
"""
