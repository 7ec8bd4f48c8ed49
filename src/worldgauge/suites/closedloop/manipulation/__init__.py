"""Manipulation."""
