"""A package of three calls."""
