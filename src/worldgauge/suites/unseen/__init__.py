"""Unseen: homes in which one thing goes on by a law, while the camera looks at it, away, and back."""
