"""Revisers: each file chooses, or decides anew, in its own way."""
