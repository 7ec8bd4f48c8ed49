"""Target."""
