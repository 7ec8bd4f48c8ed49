"""Metrics of Target-Bench: distances and scores of decoded paths."""
