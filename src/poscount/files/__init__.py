"""Reading files: CSV, Parquet and Arrow, partitioned directories; which columns look like features.

Nothing is counted here, and no method is known: engines and workflows do that.
"""
