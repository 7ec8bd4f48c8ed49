"""The embedded voxel world."""
