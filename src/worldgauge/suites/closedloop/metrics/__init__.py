"""Metrics of agents and of imagined rollouts: success, controllability and reward."""
