"""The task of active recognition of a boxed object, and its policies."""
