"""The paper's analyses: which runs they compare, and what can be concluded."""
