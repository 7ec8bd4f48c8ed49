"""The window alone."""

from __future__ import annotations

from worldgauge_train.nets.memory import Memory, memories


@memories.register("window")
class Window(Memory):
    """Nothing besides the window: what left it is forgotten."""
