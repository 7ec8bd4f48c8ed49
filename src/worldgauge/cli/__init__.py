"""The command line: one module per group of commands, and what they show."""
