"""Benchmarks: each measures ours beside a named reference in the same run. `python -m benchmarks NAME --json`."""
