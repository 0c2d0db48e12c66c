"""Files: the container, model files with their schema, and the one writer of output."""
