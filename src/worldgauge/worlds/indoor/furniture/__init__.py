"""Furniture of homes: the catalogue of pieces, and where they are placed."""
