"""Format."""
