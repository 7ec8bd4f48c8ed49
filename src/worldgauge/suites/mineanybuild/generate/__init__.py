"""Generators of structures, figures and rooms of our own."""
