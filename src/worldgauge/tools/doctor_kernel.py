"""A kernel to see whether kernels can be compiled. It has a file of its own, since numba keeps them by file."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def doubled(number: int) -> int:
    """Twice a number."""
    return 2 * number
