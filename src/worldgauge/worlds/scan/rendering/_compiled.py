"""How kernels are compiled: float64 in the order that is written, without the interpreter's lock.

Compiling is what a first view waits for. Wrappers that nobody calls took a tenth of it, so each kind has only its own.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_PART: dict[str, Any] = {**_KERNEL, "no_cpython_wrapper": True}

kernel: Any = njit(**_KERNEL)
"""What Python calls."""
part: Any = njit(**_PART)
"""What kernels call. Python cannot."""
inlined: Any = njit(**{**_PART, "forceinline": True})
"""A part that becomes a piece of each kernel that calls it."""
