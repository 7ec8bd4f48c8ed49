"""Loopnav."""
