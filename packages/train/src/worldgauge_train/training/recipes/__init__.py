"""Recipes that come with worldgauge, as TOML."""
