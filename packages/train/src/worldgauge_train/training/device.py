"""What a training asks of its device: memory, and the same result each time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from worldgauge.core.errors import DataError, UsageError


@contextmanager
def same_bytes(asked: bool) -> Iterator[None]:
    """Let torch use operations of one order alone, which are slower. On a CPU, in one thread, all are."""
    if not asked:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA is first used
    torch.use_deterministic_algorithms(True)
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        raise DataError(f"--deterministic: {str(error).splitlines()[0][:300]}") from None
    finally:
        torch.use_deterministic_algorithms(before)


BYTES = 20
"""Of a trained weight: itself, its gradient, two moments and its average, in float32."""
_TOLD = Path("/proc/meminfo")


def check_memory(weights: int, device: str) -> None:
    """Check that weights and what training keeps beside them fit; what a step computes comes on top."""
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
