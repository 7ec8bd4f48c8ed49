"""MIND: memory of what was seen, and obedience to keys, in first and third person."""
