"""What policies of embodied questions share: landmarks, what has been seen, what is asked for, how to get there."""
