"""Counts of rows in cells, which add up; what they count is up to the methods."""
