"""The version of worldgauge, which files and messages bear. It stands alone, so that any module may import it."""

__version__ = "0.2.0"
