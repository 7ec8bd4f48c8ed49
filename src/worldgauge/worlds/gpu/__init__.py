"""Worlds on a GPU: many views at once, by kernels in NVIDIA Warp (extra `gpu`)."""
