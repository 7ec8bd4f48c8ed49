"""The core that every other part builds on: frames, poses, actions, models, agents, files, errors and registries."""
