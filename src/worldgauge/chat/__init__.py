"""Language and vision models for suites: endpoints, versioned prompts, questions that are repeated, and pictures."""
