"""What happens with hostile files and requests, interruptions, load and harmless changes."""
