"""What the verdict is learned from: samples whose assumptions are broken on purpose."""
