"""worldgauge: measure what a world model is worth."""

__version__ = "0.1.0"
