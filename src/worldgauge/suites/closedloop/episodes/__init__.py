"""Generated episodes in homes and at tables, and the files that store them."""
