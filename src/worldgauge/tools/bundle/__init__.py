"""A run as one archive that anybody can check: made, opened within limits, verified, scored again in part."""
