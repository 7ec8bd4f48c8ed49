"""Policies of agents: proposers and revisers, and the interface they share."""
