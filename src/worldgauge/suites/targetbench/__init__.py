"""Target-Bench: paths to named targets in imagined videos."""
