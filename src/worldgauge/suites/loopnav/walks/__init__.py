"""Walks A to B and back, in the embedded world and in the game."""
