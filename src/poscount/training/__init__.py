"""Learning from tasks whose truth is known how far RCQ, TRCQ and sums over kinds are from it.

Sources of labelled rows (`sources`); tasks drawn from them (`tasks`), with drifting subclasses
(`drift_tasks`), with several targets (`target_tasks`), with words and gaps (`corrupt`); a bank of
what the methods said about these tasks (`bank`); the calibration that is learned from it
(`learning`); and all of it in one call (`train`). The sources of the calibrations that poscount
comes with are in `research`, outside the package.
"""
