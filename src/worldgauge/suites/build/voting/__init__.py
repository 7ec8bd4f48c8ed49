"""Votes between agents on builds for the same brief."""
