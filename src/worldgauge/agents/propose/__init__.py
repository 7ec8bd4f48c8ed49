"""Proposers: each file makes candidate plans in its own way."""
