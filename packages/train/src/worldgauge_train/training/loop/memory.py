"""Whether there is memory for a network that is to be trained, asked before it is made."""

from __future__ import annotations

from pathlib import Path

import torch

from worldgauge.core.errors import UsageError

BYTES = 20
"""Of a trained weight: itself, its gradient, two moments and its average, in float32."""
_TOLD = Path("/proc/meminfo")


def check_memory(weights: int, device: str) -> None:
    """Check that weights and what training keeps beside them fit; what a step computes comes on top and is not counted.

    Args:
        weights: Weights that this process holds.
        device: Where they are trained.

    Raises:
        UsageError: They do not.
    """
    free = _free(device)
    if free is not None and free < BYTES * weights:
        raise UsageError(
            f"a network of {weights / 1e6:.0f} million weights needs {BYTES * weights / 1e9:.3g} GB of memory "
            f"to train, and {free / 1e9:.3g} GB are free on {device}; take a smaller one"
        )


def _free(device: str) -> int | None:
    """Bytes that are free; None where nobody tells."""
    if device != "cpu":
        return int(torch.cuda.mem_get_info(device)[0])
    if not _TOLD.exists():
        return None
    told = dict(line.split(":", 1) for line in _TOLD.read_text().splitlines() if ":" in line)
    return 1024 * int(told["MemAvailable"].split()[0]) if "MemAvailable" in told else None
