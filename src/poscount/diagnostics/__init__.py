"""The assumption report: what speaks against an estimate, told at length, with pictures.

It has the warnings of the answer and no checks of its own (`poscount.checks`).
"""
