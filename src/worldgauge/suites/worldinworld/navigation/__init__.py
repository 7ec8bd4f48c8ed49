"""The task of navigation to where an image was taken, and its policies."""
