"""Clips to train on, from the data of each suite."""
