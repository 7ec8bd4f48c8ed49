"""Models whose frames come from outside the package: video files, stored rollouts, and services over HTTP."""
