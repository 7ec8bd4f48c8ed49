"""Agents that answer problems: language models, and references that need none."""
