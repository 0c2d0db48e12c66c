"""From files to results: the door through which the command line and the page come.

No statistics may be in it, and no words of a front end: an option is named as in Python, and an
error is an `InputError` that the front end puts into its own words. `results` imports no library,
so that a server can use it.
"""
