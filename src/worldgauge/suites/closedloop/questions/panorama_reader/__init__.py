"""What a panorama shows: the kind of room, and which things; by a small network, trained on homes, shipped."""
