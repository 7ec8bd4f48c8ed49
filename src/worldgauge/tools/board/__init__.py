"""A leaderboard as a folder of pages, from bundles and runs."""
