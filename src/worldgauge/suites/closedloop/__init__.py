"""Closedloop."""
