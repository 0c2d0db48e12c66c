"""What an answer is: prevalences, their intervals and warnings, groups of them, and tables."""
