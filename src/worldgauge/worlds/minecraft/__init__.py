"""The real game: its rules, its servers and its files, reached through Node."""
