"""Trajectories that cover homes, for training world models."""
