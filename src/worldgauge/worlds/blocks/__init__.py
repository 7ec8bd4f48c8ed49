"""The world of builds: what blocks look like, pictures of blueprints, and an environment to build in."""
