"""Learning from tasks whose truth is known how far RCQ, TRCQ and sums over kinds are from it.

Sources of labelled rows (`sources`), which of them poscount's own calibrations are made from
(`plan`), tasks drawn from them (`tasks`), those with drifting kinds of positives
(`drifting_kinds`), a bank of what the methods said about these tasks
(`bank`), the calibration that is learned from it (`learning`), and all of it in one call
(`making`).
"""
