"""What the studies of the closed loop ask, light enough for the help of the command line."""

from __future__ import annotations

from collections.abc import Mapping

QUESTIONS: Mapping[str, str] = {
    "quality": "Do models with better image quality help more?",
    "controllability": "Do more controllable models help more?",
    "noise": "How good must a world model be to help?",
    "calls": "Do more calls of the world model help?",
    "revision": "Whose choice among the same plans is best?",
    "context": "Is it better to imagine all around, or ahead?",
}
"""By name: the paper's in its order, `noise` among them, which is ours."""
