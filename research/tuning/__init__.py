"""How constants were chosen: one script or note each, and nothing that is needed to run."""
