"""Where a walker can go in a scan: published navmeshes, and floors found in the mesh."""
