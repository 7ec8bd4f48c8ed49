"""The task of embodied questions, with its policies and judges."""
