"""Navigation."""
