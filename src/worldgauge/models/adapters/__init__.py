"""Adapters of published world models: each file is copied into, or run in, the environment of the model it drives."""
