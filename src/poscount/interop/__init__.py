"""For users of other libraries: adapters of our quantifiers, and the contamination of detectors.

No statistics here. There is one module for each library, which is imported only with that module.
"""
