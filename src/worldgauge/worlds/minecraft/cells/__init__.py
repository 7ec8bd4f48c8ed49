"""Cells of the game's worlds: reading, surveying, editing and building."""
