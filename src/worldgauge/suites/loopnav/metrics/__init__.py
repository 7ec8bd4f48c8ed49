"""Metrics of LoopNav: deviation of the path, variants of SGCS, and coverage."""
