"""Loop walks: out from a place and back to it, as LoopNav records them."""

from worldgauge.collect.walk import LoopKind, Walk, WalkGoal

__all__ = ["LoopKind", "Walk", "WalkGoal"]
