"""Curation: tasks made from other people's structures."""
