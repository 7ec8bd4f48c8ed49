"""Worker processes on this machine or on a Ray cluster, and the pool that gives them jobs."""
