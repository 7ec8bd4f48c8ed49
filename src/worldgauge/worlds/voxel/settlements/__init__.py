"""Generators of settlements: terrain, buildings, plants and ruins."""
