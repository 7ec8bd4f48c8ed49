"""The kernel of placing furniture: whether boxes share volume."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def meets(some, others):  # type: ignore[no-untyped-def]
    """Whether any of boxes `some` (n, 6) shares volume with any of `others` (m, 6), touching aside."""
    for i in range(len(others)):
        for j in range(len(some)):
            apart = False
            for axis in range(3):
                if some[j, axis] >= others[i, axis + 3] - 1e-6 or others[i, axis] >= some[j, axis + 3] - 1e-6:
                    apart = True
                    break
            if not apart:
                return True
    return False
