"""Movement of a body in a voxel world: the rules of a tick, and collisions."""
