"""Config and model."""
