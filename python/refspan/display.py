"""What a notebook shows of refspan's objects: short, and escaped."""
