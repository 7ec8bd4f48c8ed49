"""LoopNav's published format: reading, writing and checking recordings."""
