"""From whatever the user has to blocks of numbers; no statistics of positives live here."""
