"""Metrics of MIND: accuracy of actions, consistency of scenes, and motion."""
