"""Plan, run, store, resume."""
