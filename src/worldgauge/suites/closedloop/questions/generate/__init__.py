"""Generating questions about homes, with their answers."""
