"""Time, memory and size."""
