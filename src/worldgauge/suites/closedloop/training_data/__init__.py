"""Data to train world models and policies on."""
