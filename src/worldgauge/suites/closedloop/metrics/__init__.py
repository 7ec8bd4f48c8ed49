"""Metrics of agents and of imagined rollouts: success, SPL, controllability and reward."""
