"""Training to the same bytes on GPUs, too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from worldgauge.core.errors import DataError


@contextmanager
def same_bytes(asked: bool) -> Iterator[None]:
    """Let torch use operations of one order alone, which are slower. On a CPU, in one thread, all are.

    Args:
        asked: Whether that is asked for; otherwise nothing changes.

    Raises:
        DataError: There is no such operation for something that is computed.
    """
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
