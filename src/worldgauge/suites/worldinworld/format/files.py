"""Reading the closed loop's files: JSON, gzipped or not, and pictures in a zip.

Limits are checked before memory is taken.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import zipfile
import zlib
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from worldgauge.core.episode import WorldFacts, short
from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.image import png_header_size
from worldgauge.core.io import Stamp, digest_of, parse_json, stamp_of
from worldgauge.engine.collection import MANIFEST
from worldgauge.worlds.walking.primitives import Stance

MAX_JSON_BYTES = 64 * 2**20
"""Packed or not; the published episodes have less than 1 MB each."""
MAX_IMAGE_BYTES = 64 * 2**20
MAX_MEMBERS = 100_000
MAX_DEPTH = 32
"""Of nested lists and objects; episodes have 4."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, ValueError)


def read_json(path: Path) -> Any:
    """The value of a JSON file, gzipped or not, whatever its name."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_JSON_BYTES + 1)
            if data[:2] == b"\x1f\x8b" and len(data) <= MAX_JSON_BYTES:
                file.seek(0)
                with gzip.GzipFile(fileobj=file) as unpacked:
                    data = unpacked.read(MAX_JSON_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged gzip ({error}); write or download it again") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_JSON_BYTES:
        raise DataError(f"{path}: passes the limit of {MAX_JSON_BYTES} bytes for episodes; split the file")
    value = parse_json(data, str(path))
    # How deep lists and objects are nested; 0 for anything else.
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        inner = [one for one in level if isinstance(one, (dict, list))]
        level = [child for one in inner for child in (one.values() if isinstance(one, dict) else one)]
        depth += bool(inner)
    if depth > MAX_DEPTH:
        raise DataError(f"{path}: nested deeper than {MAX_DEPTH}; these are no episodes")
    return value


def image_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG, from its header; `path` may lead into a zip."""
    return png_header_size(bytes_of(path, 24), str(path))


def picture_digest(path: Path) -> str:
    """SHA-256 of a file or a member of a zip, in hex; one that cannot be read is a fault of its episode alone."""
    held = next((parent for parent in path.parents if parent.is_file()), path)
    return _picture_digest(path, stamp_of(held))


@lru_cache(maxsize=4096)
def _picture_digest(path: Path, stamp: Stamp | None) -> str:
    try:
        return digest_of(bytes_of(path))
    except DataError as error:
        return f"unreadable: {str(error).removeprefix(str(path))}"


def fingerprint_of(episode: Any, world: WorldFacts | None = None) -> str:
    """SHA-256 over all that defines a task: every field, the world, and the bytes of its pictures."""
    paths = {name: value for name, value in vars(episode).items() if isinstance(value, Path)}
    told = asdict(replace(episode, **dict.fromkeys(paths)))  # where they lie is no part of what they show
    if told.get("design") == 1:
        del told["design"]  # as before episodes had a design
    stances = {name: value for name, value in vars(episode).items() if isinstance(value, Stance)}
    told |= {name: stance.plain for name, stance in stances.items()}
    if "start" in stances:
        # As it was told before stances had a height, so that runs that were begun then go on.
        told |= {"start": list(stances["start"][:3]), "floor_m": stances["start"].z}
    pictures = [picture_digest(path) for path in paths.values()]
    facts = [
        type(episode).__name__,
        told,
        None if world is None else [world.name, dict(world.params), world.digest],
        pictures[0] if len(pictures) == 1 else pictures or None,
    ]
    return digest_of(json.dumps(facts, sort_keys=True, allow_nan=False))


def members_of(path: Path) -> frozenset[str]:
    """Names of the files in a zip."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = [name for name in packed.namelist() if name and not name.endswith("/")]  # is_dir wants a name
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except _DAMAGED as error:
        raise DataError(f"{path}: not a readable zip ({error}); write or download it again") from error
    if len(names) > MAX_MEMBERS:
        raise DataError(f"{path}: {len(names)} files pass the limit of {MAX_MEMBERS}; split the zip")
    return frozenset(names)


def bytes_of(path: Path, n: int | None = None) -> bytes:
    """The first `n` bytes of a file, or of a member of the zip that is one of its parents; all where n is None."""
    limit = MAX_IMAGE_BYTES + 1 if n is None else n
    packed = next((parent for parent in path.parents if parent.is_file()), None)
    try:
        if packed is None:
            with open(path, "rb") as file:
                data = file.read(limit)
        else:
            name = str(PurePosixPath(*path.relative_to(packed).parts))
            with zipfile.ZipFile(packed) as archive, archive.open(name) as member:
                data = member.read(limit)
    except KeyError as error:
        raise DataError(f"{path}: not in the zip; add it or remove its episode") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except _DAMAGED as error:
        raise DataError(f"{path}: damaged or locked in its zip ({error}); write or download it again") from error
    if len(data) > MAX_IMAGE_BYTES:
        raise DataError(f"{path}: passes the limit of {MAX_IMAGE_BYTES} bytes for a picture")
    return data


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
    """The registered scan that a published episode names by id or path; None if absent. Walkers slide as there."""
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
        "collect again: worldgauge collect worldinworld"
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
            "see docs/howto/scans.md"
        )
    return None
