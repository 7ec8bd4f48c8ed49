"""A binary heap of numbers by key, in two arrays; the least key comes first."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def push(keys, held, size, key, number):  # type: ignore[no-untyped-def]
    """Put a number in.

    Args:
        keys: (N,) float64; N is more than `size`.
        held: (N,) numbers.
        size: How many are in the heap.
        key: Its key.
        number: The number.

    Returns:
        How many are in it then.
    """
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        keys[at], held[at] = keys[above], held[above]
        at = above
    keys[at], held[at] = key, number
    return size + 1


@njit(cache=True, nogil=True)
def pop(keys, held, size):  # type: ignore[no-untyped-def]
    """Take the first out; there must be one.

    Returns:
        How many are in the heap then.
    """
    size -= 1
    key, moved = keys[size], held[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], held[at] = keys[child], held[child]
        at = child
    keys[at], held[at] = key, moved
    return size
