"""Which world a scene is, and why some are none: scans come under agreements that only a user can sign."""

from __future__ import annotations

import re
from pathlib import Path

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import short, world_of
from worldgauge.suites.closedloop.format.files import read_json

MANIFEST = "worldgauge.json"
MANIFEST_FORMAT = "closedloop"
MANIFEST_VERSION = 1

_SCAN = r"[A-Za-z0-9]{11}"
_AGREEMENTS = (
    (r"mp3d", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
    (
        rf"hm3d|(^|/)\d{{5}}-{_SCAN}(/|$)",
        "HM3D, under Matterport's End User License Agreement for academic use (https://aihabitat.org/datasets/hm3d)",
    ),
    (rf"^(.*/)?{_SCAN}(\.glb)?$", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
)


def worlds_of(folder: Path) -> dict[str, WorldFacts]:
    """World of every scene, from the manifest of a collected folder; empty for published files, which have none.

    Raises DataError naming the field when the manifest is there but is not one of ours.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != MANIFEST_FORMAT:
        raise DataError(f"{path}: field 'format' is not '{MANIFEST_FORMAT}'; give a folder of closed-loop episodes")
    version = content.get("version")
    if version != MANIFEST_VERSION:
        raise DataError(f"{path}: version {short(version)} is not {MANIFEST_VERSION}; collect the data again")
    worlds = content.get("worlds")
    if not isinstance(worlds, dict):
        raise DataError(f"{path}: field 'worlds' is {short(worlds)}; remove or repair the manifest")
    return {scene: _world(row, f"{path}: scene {short(scene)}") for scene, row in worlds.items()}


def scene_missing(scene: str) -> str:
    """Why a scene without a world cannot be entered, and what to do: one line."""
    for pattern, agreement in _AGREEMENTS:
        if re.search(pattern, scene):
            return (
                f"scene {short(scene)} is a scan of {agreement}, and does not come with worldgauge: sign it and name "
                f"a world that opens the scan in {MANIFEST}, or collect homes: worldgauge collect closedloop"
            )
    return (
        f"scene {short(scene)} is not in field 'worlds' of {MANIFEST}: put the manifest of the collection back, or "
        "collect again: worldgauge collect closedloop"
    )


def _world(row: object, where: str) -> WorldFacts:
    if not isinstance(row, dict):
        raise DataError(f"{where}: {short(row)} is no world; remove or repair the manifest")
    try:
        return world_of({"name": row["world"], "params": row["params"], "digest": row.get("digest")})
    except KeyError as error:
        raise DataError(f"{where}: field {error} is missing; remove or repair the manifest") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: {error}; remove or repair the manifest") from error
