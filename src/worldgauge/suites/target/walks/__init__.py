"""Collected walks to named things."""
