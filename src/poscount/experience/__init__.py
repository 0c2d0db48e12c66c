"""Learning from tasks whose truth is known how far RCQ and TRCQ are from it.

Sources of labelled rows (`sources`), tasks drawn from them (`tasks`), a bank of what the methods said
about these tasks (`bank`), and the calibration that is learned from it (`learning`).
"""
