"""Reusable quantifiers: everything is learned from the positives, and a sample is only counted.

One method a file. Methods that need the positives and the sample together live in `transductive`.
"""
