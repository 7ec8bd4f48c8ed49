"""What the tasks share in which an agent walks about a home."""
