"""A gated diagonal recurrence along time, at each place by itself, in plain torch.

h_i = a_i h_(i-1) + (1 - a_i) v_i with a_i = sigmoid of a linear map of the token, a channel each (after Orvieto et al.
2023, "Resurrecting Recurrent Neural Networks for Long Sequences", and De et al. 2024, "Griffin", without their scans:
a window has few steps).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

KEPT = 3.0
"""The share that is kept of a state is sigmoid(3) = 0.95 at first."""


class Recurrence(nn.Module):
    """A state along time. Its output is zero at first.

    Args:
        width: Size of a token and of the state.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.keep, self.value, self.gate, self.out = (nn.Linear(width, width) for _ in range(4))
        nn.init.constant_(self.keep.bias, KEPT)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor, clean: int, lead: int, state: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Carry the state through finished steps; steps that are being drawn read it.

        Args:
            x: (B, T, N, d) tokens: `clean` finished steps, and those that are being drawn.
            clean: How many are finished; they move the state.
            lead: Finished steps before the first that is being drawn. Each of these follows the one before it.
            state: (B, N, d) before the first; None for none.

        Returns:
            What is added to the tokens, and the state after the last finished step.
        """
        keep, value = torch.sigmoid(self.keep(x)), self.value(x)
        state = torch.zeros_like(x[:, 0]) if state is None else state
        states = [state]
        for step in range(clean):
            states.append(keep[:, step] * states[-1] + (1 - keep[:, step]) * value[:, step])
        seen = states[1:]
        for step in range(clean, x.shape[1]):
            before = states[lead + step - clean]
            seen.append(keep[:, step] * before + (1 - keep[:, step]) * value[:, step])
        mixed: Tensor = self.out(torch.stack(seen, 1) * nn.functional.silu(self.gate(x)))
        return mixed, states[-1]
