"""Servers of tables: the embedded table, and robosuite's, whose file runs in robosuite's own environment."""
