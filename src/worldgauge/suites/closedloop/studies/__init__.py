"""The paper's analyses: which runs they compare, and what those can tell."""
