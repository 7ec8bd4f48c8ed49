"""The task of manipulation at a table with an arm, and its policies."""
