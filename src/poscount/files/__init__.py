"""Reading files: CSV, Parquet, Arrow and partitioned directories; choosing columns; sampling rows.

Nothing may be counted or fitted here: engines and app do that.
"""
