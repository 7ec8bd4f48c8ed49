"""Scripted walks that make episodes."""
