"""Under whose terms things are that a network is made of: pictures of worlds, and what it began from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.worlds.scan.sources import EXAMPLE, sources

FREE, UNKNOWN = "none", "unknown"
"""No restriction, since a program of worldgauge drew it; and nobody said."""
_DRAWN = ("voxel", "third-person", "indoor", "room", "tabletop")
LICENCE = "licence"
"""Where a checkpoint tells terms in its config.json."""
_CARD = "README.md"


def terms_of_world(world: WorldFacts | None) -> str:
    """Terms of pictures of a world.

    Args:
        world: The world; None where only a recording exists.

    Returns:
        "none" for worlds that worldgauge draws, the terms of a data set of scans, or "unknown".
    """
    if world is None:
        return UNKNOWN
    if world.name in _DRAWN:
        return FREE
    source = str(world.params.get("scene", "")).partition("/")[0]
    if world.name != "scan":
        return UNKNOWN
    if source == EXAMPLE:
        return FREE
    known = sources().get(source)
    return (known.terms if known is not None else None) or UNKNOWN


def terms_of_pipeline(folder: Path) -> str:
    """Terms of a brought pipeline, as the head of its card tells them.

    Args:
        folder: Its folder, as it was downloaded.

    Returns:
        Such as "apache-2.0", or "unknown".
    """
    try:
        lines = (folder / _CARD).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return UNKNOWN
    if not lines or lines[0].strip() != "---":
        return UNKNOWN
    for line in lines[1:200]:
        name, colon, value = line.partition(":")
        if line.strip() == "---":
            break
        if colon and name.strip() in ("license", "license_name") and value.strip() not in ("", "other"):
            return value.strip().strip("'\"")[:100]
    return UNKNOWN


def terms_told(config: Mapping[str, Any]) -> list[str]:
    """Under whose terms the pictures are that a checkpoint was trained on; older ones do not tell.

    Args:
        config: Content of its config.json.
    """
    told = config.get(LICENCE)
    data = told.get("data") if isinstance(told, dict) else None
    return [str(one) for one in data] if isinstance(data, list) else [UNKNOWN]
