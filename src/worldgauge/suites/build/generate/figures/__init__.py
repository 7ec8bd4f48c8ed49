"""Figures of cubes, and questions about them turned in the mind."""
