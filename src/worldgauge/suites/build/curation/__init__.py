"""Curation."""
