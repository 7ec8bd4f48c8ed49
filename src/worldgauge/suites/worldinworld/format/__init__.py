"""World-in-World's published episodes: reading, writing and checking them."""
