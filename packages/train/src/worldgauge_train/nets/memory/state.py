"""A state at every place, carried from step to step."""

from __future__ import annotations

from typing import Any

from worldgauge_train.nets.memory import Memory, memories


@memories.register("state")
class State(Memory):
    """A gated diagonal recurrence in every block, at each place: what leaves the window may stay in it."""

    def mixer(self, width: int) -> Any:
        """Make the recurrence of a block.

        Args:
            width: Size of a token.
        """
        from worldgauge_train.nets.recurrence import Recurrence

        return Recurrence(width)
