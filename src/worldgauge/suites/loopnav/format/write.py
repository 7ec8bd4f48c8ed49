"""Writing LoopNav trajectories with the published keys, and the manifest that names the world they show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.io import check_name, parse_json, write_file
from worldgauge.core.video import Writer
from worldgauge.suites.loopnav.format.records import HELD_KEYS, read_bytes
from worldgauge.worlds import located
from worldgauge.worlds.voxel.eye import EYE_HEIGHT_M, VERTICAL_FOV_DEG
from worldgauge.worlds.walking.walk import LoopKind, Walk, WalkGoal

FPS = 20
FIRST_FRAME = 20
"""frame_count of record 0: the release skips the renderer's first 20 frames."""

MANIFEST = "worldgauge.json"
MANIFEST_FORMAT = "loopnav"
MANIFEST_VERSION = 1


def write_trajectory(
    root: Path,
    *,
    location: str,
    type: LoopKind,
    radius: int,
    stamp: str,
    walk: Walk,
    frames: Iterable[NDArray[np.uint8]],
    seed: int | None,
) -> Path:
    """Write `walk` as <type>/<location>/<radius>/<stamp>.avi and .json.

    The video is put in place first and the records last, so a trajectory with records is complete.

    Args:
        root: Folder of the data.
        location: Name of the place.
        type: Form of the loop.
        radius: Range in blocks.
        stamp: File name without suffix.
        walk: T frames, our frame.
        frames: T frames (H, W, 3) or chunks (n, H, W, 3), uint8 RGB.
        seed: Seed of the world; None when unknown.

    Returns:
        Path of the JSON file.

    Raises:
        DataError: When a name is not allowed in a path, the numbers of frames differ, or a file cannot be written,
            such as on a full disk.
    """
    where = f"{type}/{location}/{radius}/{stamp}"
    folder = Path(root) / check_name(type, where) / check_name(location, where) / str(int(radius))
    records = folder / f"{check_name(stamp, where)}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        records.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{records}: cannot be written ({error.strerror or error})") from error
    with Writer(records.with_suffix(".avi"), fps=FPS, kind="mjpg") as video:
        for chunk in frames:
            video.write(chunk)
        if video.frames != len(walk):
            raise DataError(f"{records}: {video.frames} frames for a walk of {len(walk)}; render one frame a pose")
    extra = {"location": location, "nvtype": type, "nvrange": radius}
    extra = extra if seed is None else {"seed": seed, **extra}
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in _rows(walk, extra))
    write_file(records, f"[\n{rows}\n]\n")
    return records


def write_manifest(root: Path, locations: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> Path:
    """Record the world of every location; locations that the folder already has are kept.

    Args:
        root: Folder of the data.
        locations: World by location.
        settings: How the data were collected, plain JSON values.

    Raises:
        DataError: When a location is already there with another world, or the file cannot be written.
    """
    known = _recorded(root)
    for name, facts in locations.items():
        if known.get(check_name(name, "manifest"), facts) != facts:
            raise DataError(f"{root}: '{name}' is already there with another world; collect into another folder")
    content = {
        "format": MANIFEST_FORMAT,
        "version": MANIFEST_VERSION,
        "settings": dict(settings),
        "locations": {name: _world_row(facts) for name, facts in sorted({**known, **locations}.items())},
        "camera": {"vertical_fov_deg": VERTICAL_FOV_DEG, "eye_height_m": EYE_HEIGHT_M},
    }
    path = Path(root) / MANIFEST
    write_file(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")
    return path


def worlds_of(root: Path) -> dict[str, WorldFacts]:
    """World of every location, from the manifest; empty for published data, which have none.

    Raises:
        DataError: When the manifest is not one of ours; names the field.
    """
    return {name: located(facts, Path(root)) for name, facts in _recorded(root).items()}


def pictures_of(root: Path) -> str:
    """Who drew the frames: another renderer's name from the manifest, else "ours", our own camera."""
    path = Path(root) / MANIFEST
    content = parse_json(read_bytes(path), str(path)) if path.exists() else {}
    game = content.get("settings", {}).get("game") if isinstance(content, dict) else None
    return str(game.get("pictures", "ours")) if isinstance(game, dict) else "ours"


def _recorded(root: Path) -> dict[str, WorldFacts]:
    """What the manifest says, word for word."""
    path = Path(root) / MANIFEST
    if not path.exists():
        return {}
    content = parse_json(read_bytes(path), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected an object; remove or repair the manifest")
    version: int = _field(content, "version", int, str(path))
    if version > MANIFEST_VERSION:
        raise DataError(f"{path}: version {version} is newer than this worldgauge; update it")
    _field(content, "settings", dict, str(path))
    locations: dict[str, Any] = _field(content, "locations", dict, str(path))
    return {
        check_name(name, str(path)): _world_facts(_field(locations, name, dict, f"{path}: locations"), path, name)
        for name in locations
    }


def _rows(walk: Walk, extra: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """One object a frame, in the game's frame: our (x, y, z) -> (x, z, -y), yaw - pi/2."""
    for t in range(len(walk)):
        x, y, z = walk.positions[t]
        goal = walk.goals[t]
        yield {
            "x": _rounded(x),
            "y": _rounded(z),
            "z": _rounded(-y),
            "yaw": _rounded(walk.yaw[t] - np.pi / 2),
            "pitch": _rounded(walk.pitch[t]),
            "action": {
                "forward": bool(walk.forward[t]),
                "jump": bool(walk.jump[t]),
                "camera": [float(angle) for angle in walk.camera[t]],
                **dict.fromkeys(HELD_KEYS, False),
            },
            "goal": None if goal is None else _game_goal(goal),
            "frame_count": FIRST_FRAME + t,
            "extra_info": extra,
        }


def _game_goal(goal: WalkGoal) -> dict[str, int]:
    """Our cell (i, j, k) is the game's block (i, k, -j - 1)."""
    block = {"x": goal.x} if goal.z is None else {"x": goal.x, "y": goal.z}
    block["z"] = -goal.y - 1
    return block if goal.range_sq is None else {**block, "rangeSq": goal.range_sq}


def _rounded(value: float) -> float:
    return round(float(value), 3) + 0.0  # no "-0.0"


def _world_row(facts: WorldFacts) -> dict[str, Any]:
    row = asdict(facts)
    return {"world": row["name"], "params": dict(row["params"]), "digest": row["digest"]}


def _world_facts(row: Mapping[str, Any], path: Path, name: str) -> WorldFacts:
    where = f"{path}: location '{name}'"
    digest = None if row.get("digest") is None else _field(row, "digest", str, where)
    return WorldFacts(_field(row, "world", str, where), _field(row, "params", dict, where), digest)


def _field(row: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    """A field that must be there and of this type."""
    words = {dict: "an object", int: "a whole number", str: "text"}
    if name not in row:
        raise DataError(f"{where}: field '{name}' is missing; remove or repair the manifest")
    if type(row[name]) is not kind:
        raise DataError(f"{where}: field '{name}' must be {words[kind]}; remove or repair the manifest")
    return row[name]
