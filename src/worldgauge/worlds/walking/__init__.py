"""Walking in worlds: floor plans, shortest paths, planners, walkers, and the primitives of navigation."""
