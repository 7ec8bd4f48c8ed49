"""How near a view is to the place where a panorama was taken: a small network, trained on homes, shipped."""
