"""The scenes that a checkpoint was trained on, as its config.json tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def trained_scenes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Digests of all scenes that a checkpoint was trained on, and those that it came from.

    Args:
        config: Content of its config.json.

    Returns:
        The digests, sorted.
    """
    rows, before = config.get("data"), config.get("parent_scenes")
    told = [row.get("scenes") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return tuple(sorted({str(one) for part in (*told, before) if isinstance(part, list) for one in part}))


def unplaced_clips(config: Mapping[str, Any]) -> int:
    """Number of clips that a checkpoint was trained on whose scenes are not known, so that nobody can compare them.

    Args:
        config: Content of its config.json.
    """
    rows = config.get("data")
    told = [row.get("unknown") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return sum(one for one in told if type(one) is int and one > 0)
