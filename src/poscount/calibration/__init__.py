"""The last step of RCQ and TRCQ, from what regions say to a prevalence: learned from experience."""
