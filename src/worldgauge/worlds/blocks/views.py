"""Pictures of blueprints from standard viewpoints, and notes on what the pictures cannot show."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image, png
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor, states_of, tier_of
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of, shape_of
from worldgauge.worlds.blocks.render import render
from worldgauge.worlds.blocks.resource_pack import ResourcePack
from worldgauge.worlds.blocks.structure_files import Structure, read_region_box, read_structure, write_nbt, write_schem
from worldgauge.worlds.blocks.table import known, plain, properties

RENDERER: dict[str, Any] = {"renderer": "worldgauge-build", "version": 1, "palette": "flat-1"}
"""Goes into every result that rests on pictures: those of another renderer are not comparable point by point."""

AROUND_FOV_DEG = 30.0
"""Of pictures framed by the bounding sphere."""
VIEW_FOV_DEG = 31.0
"""Of standard views that are framed so: corners that lie on the sphere stay off the border."""

STOP_FOV_DEG = 70.0
STOP_M, STOP_UP_M = 8.0, 2.0
"""The evaluation's four stops: this far from the box, this far over its centre (section 3.4; its code)."""
STOP_FILLED = 0.95
"""Share of a picture's half that a build fills at most; for larger builds a stop is farther away."""

STOPS_DEG = {"south": 0.0, "north": 180.0, "east": 90.0, "west": 270.0}
DIAGONALS_DEG = {"south-east": 45.0, "north-east": 135.0, "north-west": 225.0, "south-west": 315.0}
RAISED_DEG = 30.0
COLUMNS = 4
MOST_NAMED = 12
"""Materials in one line of flags."""

_LABEL_PX = 20


def picture(
    blueprint: Blueprint,
    *,
    azimuth_deg: float = 45.0,
    elevation_deg: float = RAISED_DEG,
    size_px: int = 512,
    pack: ResourcePack | None = None,
    mesh: Mesh | None = None,
) -> Image:
    """The whole build in a square picture (size_px, size_px, 3), framed by the sphere around its box."""
    camera = Camera.from_vertical_fov(size_px, size_px, AROUND_FOV_DEG)
    return render(mesh or mesh_of(blueprint, pack), pose_around(blueprint, azimuth_deg, elevation_deg), camera)


def standard_views(
    blueprint: Blueprint, *, size_px: int = 512, top: bool = False, pack: ResourcePack | None = None
) -> dict[str, Image]:
    """The pictures of an evaluation by name: four published viewpoints, four raised diagonals, and the top if
    requested. A published viewpoint is 2 m above the centre and 8 m outside the box, farther if the build does not fit,
    and level."""
    mesh, poses = mesh_of(blueprint, pack), standard_poses(blueprint, top=top)
    return {
        name: render(mesh, pose, Camera.from_vertical_fov(size_px, size_px, fov_deg))
        for name, (pose, fov_deg) in poses.items()
    }


def contact_sheet(blueprint: Blueprint, *, tile_px: int = 256, pack: ResourcePack | None = None) -> Image:
    """All standard views on one labelled sheet in two rows of four."""
    import cv2

    tiles = []
    for name, view in standard_views(blueprint, size_px=tile_px, pack=pack).items():
        strip = np.full((_LABEL_PX, tile_px, 3), 40, np.uint8)
        cv2.putText(strip, f"from {name}", (6, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (240,) * 3, 1, cv2.LINE_AA)
        tile = np.concatenate([strip, view])
        tile[:, -1] = 40
        tiles.append(tile)
    rows = [np.concatenate(tiles[n : n + COLUMNS], 1) for n in range(0, len(tiles), COLUMNS)]
    sheet: NDArray[np.uint8] = np.concatenate(rows)
    return sheet


def standard_poses(blueprint: Blueprint, *, top: bool = False) -> dict[str, tuple[FloatArray, float]]:
    """Camera-to-world pose (4, 4) and field of view in degrees of the standard views, by name."""
    width, height, depth = blueprint.size
    poses = {}
    for name, azimuth_deg in STOPS_DEG.items():
        across, along = (width, depth) if name in ("south", "north") else (depth, width)
        half = max(across / 2, height / 2 + STOP_UP_M)
        out = along / 2 + max(STOP_M, half / (STOP_FILLED * math.tan(math.radians(STOP_FOV_DEG / 2))))
        toward = _toward(azimuth_deg, 0.0)
        place = _centre(blueprint) + out * toward + np.array([0.0, 0.0, STOP_UP_M])
        poses[name] = pose_from_yaw_pitch(place, math.atan2(-toward[1], -toward[0])), STOP_FOV_DEG
    for name, azimuth_deg in DIAGONALS_DEG.items():
        poses[name] = pose_around(blueprint, azimuth_deg, RAISED_DEG), VIEW_FOV_DEG
    if top:
        poses["top"] = pose_around(blueprint, 0.0, 90.0), VIEW_FOV_DEG
    return poses


def pose_around(blueprint: Blueprint, azimuth_deg: float, elevation_deg: float) -> FloatArray:
    """Camera-to-world pose that looks at the build's centre; the sphere around its box fills a view of AROUND_FOV_DEG.
    From straight above, north is up at azimuth 0."""
    radius = max(float(np.linalg.norm(blueprint.size)) / 2, 0.5)
    distance = radius / math.sin(math.radians(AROUND_FOV_DEG / 2))
    place = _centre(blueprint) + distance * _toward(azimuth_deg, elevation_deg)
    return pose_from_yaw_pitch(place, math.radians(azimuth_deg + 90), -math.radians(elevation_deg))


def flags_of(blueprint: Blueprint) -> dict[str, list[str]]:
    """Materials in use that pictures cannot show correctly, by reason.
    An unknown name is a full cube, an unknown state its default, and a missing direction follows the neighbours."""
    used = sorted(blueprint.counts())
    flags = {
        "unknown_names": [name for name in used if not known(name)],
        "states_unknown": [name for name in used if _has_other_states(name)],
        "states_missing": [name for name in used if _lacks_facing(name)],
    }
    return {reason: names for reason, names in flags.items() if names}


def flag_lines(blueprint: Blueprint) -> tuple[str, ...]:
    """The flags of `flags_of` for people: one line per reason, with at most MOST_NAMED materials each."""
    lines = []
    for reason, names in flags_of(blueprint).items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        lines.append(f"{_SAID[reason]}: {', '.join(name[:80] for name in names[:MOST_NAMED])}{more}")
    return tuple(lines)


_SAID = {
    "unknown_names": "not blocks of 1.20.4, drawn as plain cubes",
    "states_unknown": "states that 1.20.4 does not have, replaced by defaults",
    "states_missing": "materials that do not say which way they face",
}


def _has_other_states(text: str) -> bool:
    name, said = states_of(text)
    values = properties(name)
    return known(name) and any(value not in values.get(key, ()) for key, value in said.items())


def _lacks_facing(text: str) -> bool:
    name, said = states_of(text)
    facings = properties(name).get("facing", ())
    return "facing" not in said and len({shape_of(plain(name), {**said, "facing": way}) for way in facings}) > 1


def _toward(azimuth_deg: float, elevation_deg: float) -> FloatArray:
    """Unit vector (3,) from the build to the camera, world frame."""
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    level = math.cos(elevation)
    return np.array([math.sin(azimuth) * level, -math.cos(azimuth) * level, math.sin(elevation)])


def _centre(blueprint: Blueprint) -> FloatArray:
    width, height, depth = blueprint.size
    return np.array([width, -depth, height]) / 2


# Describe one structure file, or save it in another format or as a picture.

_CORNER = r"(-?\d{1,8}),(-?\d{1,8}),(-?\d{1,8})"
_BOX = re.compile(f"{_CORNER}:{_CORNER}")
MOST_SIDE_NBT = 48
"""Blocks a side that structure blocks of the game load."""
WRITERS = (".nbt", ".schem", ".png")


def look(file: Path, box: str | None = None) -> Structure:
    """Read a structure file, or a box of a world."""
    if box is None:
        if file.is_dir():
            raise UsageError(f"{file} is a folder: name a file in it, or for a world a box with --box x,y,z:x,y,z")
        return read_structure(file)
    return Structure(file.stem, read_region_box(file, *corners_of(box)), "mca", {"box": box}, ())


def corners_of(box: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Lowest and highest corner of a box that is written as two corners, in blocks."""
    corners = _BOX.fullmatch(box.replace(" ", ""))
    if corners is None:
        raise UsageError(f"--box takes two corners, such as -20,60,4:-12,70,15, not '{box}'")
    (a, b), (c, d), (e, f) = (sorted((int(corners[k]), int(corners[k + 3]))) for k in (1, 2, 3))
    return (a, c, e), (b, d, f)


def facts_of(found: Structure) -> dict[str, Any]:
    """The facts of `facts_of_blueprint`, with the name, format and warnings of the file."""
    facts = facts_of_blueprint(found.blueprint)
    return {"name": found.name, "format": found.format, **facts, "warnings": [*found.warnings, *facts["warnings"]]}


def facts_of_blueprint(blueprint: Blueprint) -> dict[str, Any]:
    """Metadata of a blueprint as plain JSON values."""
    factor = difficulty_factor(blueprint.blocks, blueprint.size)
    counts = blueprint.counts()
    return {
        "size": list(blueprint.size),
        "blocks": blueprint.blocks,
        "difficulty": factor,
        "tier": None if factor is None else tier_of(factor),
        "materials": {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))},
        "warnings": flag_lines(blueprint),
    }


def save(blueprint: Blueprint, out: Path, pack: Path | None = None) -> None:
    """Write a blueprint in the format that the suffix of `out` names."""
    ending = out.suffix.lower()
    if pack is not None and ending != ".png":
        raise UsageError(f"{out}: a resource pack is for pictures; give --out FILE.png")
    if ending == ".nbt":
        write_nbt(out, blueprint)
    elif ending == ".schem":
        write_schem(out, blueprint)
    elif ending == ".png":
        colours = None if pack is None else ResourcePack.open(pack)
        write_file(out, png(contact_sheet(blueprint, pack=colours)))
    else:
        raise UsageError(f"{out}: structures are written as {', '.join(WRITERS)}, not '{out.suffix}'")
