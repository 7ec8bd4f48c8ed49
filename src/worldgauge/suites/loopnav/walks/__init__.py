"""Loop walks A to B and back, collected in the embedded world and in the game."""
