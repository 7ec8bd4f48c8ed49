"""Models that `worldgauge train` and `worldgauge post-train` make."""
