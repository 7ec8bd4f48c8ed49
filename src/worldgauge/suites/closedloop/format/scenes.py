"""Scenes of published episodes: which scan each is, whether it is at hand, and what to do where it is not."""

from __future__ import annotations

import re

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.fields import short
from worldgauge.engine.collection.manifest import MANIFEST

_ID = r"[A-Za-z0-9]{11}"
_KNOWN = (
    ("mp3d", r"mp3d", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
    (
        "hm3d",
        rf"hm3d|(^|/)\d{{5}}-{_ID}(/|$)",
        "HM3D, under Matterport's End User License Agreement for academic use (https://aihabitat.org/datasets/hm3d)",
    ),
    ("mp3d", rf"^(.*/)?{_ID}(\.glb)?$", "Matterport3D, under its Terms of Use (https://niessner.github.io/Matterport)"),
)


def published_world(scene: str) -> WorldFacts | None:
    """The registered scan that a published episode names; None where it is not at hand.

    Published files name a scene by its bare id, by its path within HM3D, or by the last parts of a path. All of them
    hold the id of eleven characters. Walkers slide along its walls, as in the simulator of the episodes.

    Args:
        scene: As the episode has it.
    """
    from worldgauge.worlds.scan import sources

    if not any(re.search(pattern, scene) for _, pattern, _ in _KNOWN):
        return None
    for part in re.split(r"[/.]", scene):
        found = sources.published(part.rpartition("-")[2]) if re.fullmatch(rf"(\d{{5}}-)?{_ID}", part) else None
        if found is not None:
            return WorldFacts("scan", {"scene": found.key, "sliding": True}, sources.digest_of_scene(found))
    return None


def scene_missing(scene: str) -> str:
    """Why a scene without a world cannot be entered, and what to do, in one line."""
    for name, pattern, agreement in _KNOWN:
        if re.search(pattern, scene):
            return (
                f"scene {short(scene)} is a scan of {agreement}, and does not come with worldgauge: sign it, unpack "
                f"the scans, and register their folder: worldgauge world add {name} DIR"
            )
    return (
        f"scene {short(scene)} is not in field 'worlds' of {MANIFEST}: put the manifest of the collection back, or "
        "collect again: worldgauge collect closedloop"
    )


def lacks_navmesh(world: WorldFacts) -> bool:
    """Whether distances in a scan are measured on a floor found in its mesh, which published ones are not."""
    if world.name != "scan":
        return False
    from worldgauge.worlds.scan import sources

    try:
        return sources.scene(str(world.params.get("scene", ""))).navmesh is None
    except WorldgaugeError:
        return False


def lacks_names(world: WorldFacts) -> str | None:
    """Why nothing in a world is named, in one line; None where things are, or where that is not known."""
    if world.name != "scan":
        return None
    from worldgauge.worlds.scan import sources

    try:
        found = sources.scene(str(world.params.get("scene", "")))
    except WorldgaugeError as error:
        return str(error)
    if found.is_published and found.names is None:
        return (
            f"scene '{found.key}' has no names of things: unpack the semantic files of the data set beside its scan; "
            "see docs/worlds/scan.md"
        )
    return None
