"""Walks to named things."""
