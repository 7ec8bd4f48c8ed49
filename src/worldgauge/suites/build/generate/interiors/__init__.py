"""Furnished rooms, and questions about them."""
