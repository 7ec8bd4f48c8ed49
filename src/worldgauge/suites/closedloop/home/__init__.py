"""What tasks share in which an agent walks through a home."""
