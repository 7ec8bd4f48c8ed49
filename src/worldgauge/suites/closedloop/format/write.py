"""Writing episodes in the published schemas; the same episodes give the same bytes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_name, write_file
from worldgauge.suites.closedloop.format.contract import EpisodeT
from worldgauge.suites.closedloop.format.coordinates import habitat_stance
from worldgauge.worlds.walking.stance import Stance

VERSION = "worldgauge-1"


def distinct(episodes: Iterable[EpisodeT]) -> list[EpisodeT]:
    """The episodes as a list.

    Raises:
        DataError: For two of one id, and for an id that is not allowed as a name.
    """
    listed = list(episodes)
    seen: set[str] = set()
    for episode in listed:
        if check_name(episode.id, "episodes") in seen:
            raise DataError(f"the id '{episode.id}' is there twice; give every episode its own")
        seen.add(episode.id)
    return listed


def put_json(path: Path, content: Any, *, packed: bool = False) -> Path:
    """Write a JSON file, gzipped where it is packed.

    Returns:
        Its path.

    Raises:
        DataError: When it cannot be written.
    """
    text = (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
    write_file(path, _gzipped(text) if packed else text)
    return path


def place_fields(which: str, stance: Stance) -> dict[str, list[float]]:
    """The fields `<which>_position` and `<which>_rotation` of a stance, in the simulator's frame."""
    position, rotation = habitat_stance(stance)
    return {f"{which}_position": position, f"{which}_rotation": rotation}


def _gzipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()
