"""Drawing of scans: triangles in clusters, which pixels they cover, and what colour those have."""
