"""Measurements, run from the root of the repository: ``python -m benchmarks.speed.watch --help``.

`regression` compares one version with another, `accuracy` measures errors, intervals and warnings
on data whose truth is known, `speed` time and memory, `robustness` what happens when something is
wrong. How constants were chosen is in `research/tuning`.
"""
