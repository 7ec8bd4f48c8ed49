"""Walks driven by keys, and mirrored paths out and back."""
