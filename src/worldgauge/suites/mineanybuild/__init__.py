"""MineAnyBuild: planning builds in space, from words and pictures to blocks."""
