"""The assumption report: everything that speaks for or against an estimate, with pictures.

It also compares two samples. What is checked, and with which threshold, is in `poscount.checks`.
"""
