"""What a suite is made of: its base class, tasks, scores, settings and tables."""
