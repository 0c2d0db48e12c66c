"""Learning from tasks whose truth is known how far RCQ is from it: ``poscount calibrate``.

Sources of labelled rows (`sources`); tasks drawn from them (`tasks`), some of them recorded
differently (`recorded`); a bank of what RCQ said about these tasks (`bank`); the calibration that
is learned from it (`learning`); and all of it in one call (`train`). What else the calibrations
that poscount comes with were learned from is in `research.calibrations`, outside the package.
"""
