"""Methods that count rows in regions of the space; the rule, and what its counts say, are here.

`part` learns from one set of labelled rows and counts others against it; `rule` turns counts into
bounds; `view` holds what follows from the counts of samples; `estimate` makes answers of it. RCQ,
SubclassRCQ, RCQWithNegatives and MultiRCQ have one part or several.
"""
