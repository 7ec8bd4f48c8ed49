"""The hash tree of a bundle: one digest, the root, that names all its contents.

The form is that of RFC 6962, section 2.1: leaves and inner nodes are hashed with different first bytes, and a tree of n
leaves is split at the largest power of two below n. A leaf is the path of a file with the SHA-256 of its contents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

_LEAF, _NODE = b"\0", b"\1"


def root_of(digests: Mapping[str, str]) -> str:
    """Root of the tree over files.

    Args:
        digests: SHA-256 of each file, in hexadecimal, by path.

    Returns:
        The root in hexadecimal. It depends on every path and every byte, not on the order.
    """
    leaves = [_hash(_LEAF + path.encode() + b"\0" + bytes.fromhex(digest)) for path, digest in sorted(digests.items())]
    return (_root(leaves) if leaves else _hash(b"")).hex()


def _root(nodes: Sequence[bytes]) -> bytes:
    if len(nodes) == 1:
        return nodes[0]
    half = 1 << ((len(nodes) - 1).bit_length() - 1)
    return _hash(_NODE + _root(nodes[:half]) + _root(nodes[half:]))


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
