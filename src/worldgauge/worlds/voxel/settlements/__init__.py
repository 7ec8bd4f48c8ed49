"""Settlements."""
