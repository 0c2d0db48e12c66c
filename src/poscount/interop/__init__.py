"""Inside other libraries: adapters that make our quantifiers theirs.

No statistics here, and nothing is imported before it is asked for: one library, one module.
"""
