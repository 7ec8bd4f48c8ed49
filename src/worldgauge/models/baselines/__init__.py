"""Models whose scores are known in advance: ceilings, floors, and models with one stated fault."""
