"""Forms of results that few tools read: Every Eval Ever, logs of Inspect, recordings of Rerun."""
