"""Whether a version still gives the answers of an earlier one, and how its code looks."""
