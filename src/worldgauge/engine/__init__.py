"""Running suites: plan tasks, ask models in workers, keep records on disk, and score them."""
