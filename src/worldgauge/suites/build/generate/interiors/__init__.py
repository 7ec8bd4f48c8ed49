"""Interiors."""
