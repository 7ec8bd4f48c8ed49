"""Servers of the game: starting one, and controlling a bot on one."""
