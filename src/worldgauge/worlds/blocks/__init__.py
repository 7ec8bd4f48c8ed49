"""Worlds of blocks: shapes and colours, pictures of blueprints, and an environment to build in."""
