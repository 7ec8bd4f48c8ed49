"""Walks driven by keys, and mirrored paths."""
