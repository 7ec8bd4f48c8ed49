"""Models whose scores are known beforehand: ceilings, floors, and models with one stated fault."""
