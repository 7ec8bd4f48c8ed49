"""Reports of episodes: replays, drawings and pages of studies."""
