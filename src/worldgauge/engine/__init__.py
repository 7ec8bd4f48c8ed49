"""Running suites: plan tasks, ask subjects in workers, keep records on disk, and score them."""
