"""Demonstrations of the scripted expert at a table."""
