"""Validation of critics: how well their grades agree with known ones."""
