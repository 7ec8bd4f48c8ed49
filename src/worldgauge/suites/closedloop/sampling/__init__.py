"""What the samplers of all tasks share: their contract, the homes, and the parts of a data set."""
