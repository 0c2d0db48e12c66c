"""How good a classifier is, judged without labelled negatives: from scores and a prevalence."""
