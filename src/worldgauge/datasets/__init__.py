"""The published on-disk formats, read and written as Episodes."""
