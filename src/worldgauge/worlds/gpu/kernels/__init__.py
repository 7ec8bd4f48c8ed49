"""What runs on the device, in NVIDIA Warp; imported only where Warp is."""
