"""The published layout of MineAnyBuild: rows of the data set, files, pictures, writing.

On disk: data/architectures.json, data/images/, task/Task_*.json. The published archive
and what we write are read in the same way, by `format_reader`. Limits are checked before memory is taken. The same set
gives the same bytes.

Example:
    data = load(root)
    data.tasks["planning"][0]
    data.architectures[task.architecture].blueprint
    write(root, architectures, tasks)
    write_image(root, "images/own/hut.png", picture)
    read_image(root, task.images[0])
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, ShapeError, UsageError
from worldgauge.core.image import MAX_PIXELS, Image, png
from worldgauge.core.io import (
    atomic_file,
    check_inside,
    check_name,
    digest_of,
    digest_of_file,
    natural_key,
    parse_json,
    write_file,
)
from worldgauge.worlds.blocks.blueprint import Blueprint

Kind = Literal["planning", "understanding", "creativity", "reasoning", "commonsense"]
KINDS: tuple[Kind, ...] = ("planning", "understanding", "creativity", "reasoning", "commonsense")
BUILD_KINDS: tuple[Kind, ...] = ("planning", "understanding", "creativity")
"""Kinds that are answered with a matrix; the others with a choice, or in words."""
LIMITS = (50, 80, 80)
"""Height, depth and width in blocks that an answer may have, unless a setting says otherwise."""
NEEDS_TRUTH: tuple[Kind, ...] = ("planning", "understanding")
"""Kinds that are scored against a blueprint; creativity is not."""


CODES: Mapping[Kind, str] = dict(zip(KINDS, ("SP", "SU", "CR", "SR", "SC"), strict=True))
"""Codes of the kinds of tasks in the published ids."""
PUBLISHED: Mapping[Kind, int] = dict(zip(KINDS, (946, 473, 1419, 1728, 50), strict=True))
"""Tasks of the published benchmark (Table 4)."""
TYPES = (
    *("houses", "animals", "items", "town_centers", "fictional_characters", "cars", "military_buildings", "buses"),
    *("emergency_vehicles", "miscellaneous", "famous_films", "working_vehicles", "bridges", "garden", "parks"),
    *("ruins", "ships", "sightseeing_buildings", "planes", "minecraft_villages", "lamps", "others"),
)
"""Of buildings (Table 5)."""
OWN_SOURCE = 9
"""Source digit of our own records; the published ones are smaller."""


@dataclass(frozen=True)
class Architecture:
    """A build and its metadata; `source` is `data_resource`, and `image` a path within the folder data."""

    id: str
    name: str
    description: str
    source: str
    blueprint: Blueprint
    difficulty: float | None = None
    type: str | None = None
    image: str | None = None
    biome: str | None = None
    image_urls: tuple[str, ...] | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class BuildTask:
    """One task.

    Attributes:
        variant: Planning: "detailed" or "simple". Reasoning: "same", "different" or "judge". Else "".
        materials: Shown to the agent; block k is entry k - 1.
        images: Pictures that are shown, paths within the folder data.
        answer: "A" to "D", "True" or "False", or the written one of commonsense.
    """

    id: str
    kind: Kind
    variant: str
    instruction: str
    architecture: str | None = None
    materials: tuple[str, ...] = ()
    difficulty: float | None = None
    images: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    options_image: str | None = None
    options: tuple[str, ...] = ()
    answer: str | None = None
    env: str | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class RowFault:
    """A row that cannot be used, and why: the text names file, row and field."""

    kind: Kind | Literal["architecture"]
    id: str
    text: str


@dataclass(frozen=True)
class BuildSet:
    """What a folder holds."""

    root: Path
    architectures: Mapping[str, Architecture]
    tasks: Mapping[Kind, tuple[BuildTask, ...]]
    faults: tuple[RowFault, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of tasks that can be used."""
        return sum(map(len, self.tasks.values()))


def identifier(source_digit: int, number: int, type: str | None, name: str, description: str) -> str:
    """Id of an architecture: AR_, source digit and number, hash of the type, hash of name and description.

    Nobody knows what text the published second hash is of, so take the ids of downloaded records as they are.
    """
    if not (0 <= source_digit <= 9 and 0 <= number <= 9999):
        raise UsageError(f"an architecture has a source from 0 to 9 and a number to 9999, got {source_digit}, {number}")
    parts = (digest_of(text)[:16] for text in (type or "", f"{name}\n{description}"))
    return f"AR_{source_digit}{number:04d}_{'_'.join(parts)}"


def task_id(kind: Kind, architecture: str, variant: int | None = None) -> str:
    """Return the id of a task on an architecture, such as TSK_SP_90001_0."""
    parts = architecture.split("_")
    if len(parts) < 2 or parts[0] != "AR" or not (parts[1].isascii() and parts[1].isdecimal()):
        raise UsageError(f"'{architecture}' is no id of an architecture; give one such as AR_90001_..., see identifier")
    return f"TSK_{CODES[kind]}_{parts[1]}" + ("" if variant is None else f"_{variant}")


ARCHITECTURES = "data/architectures.json"
TASKS: Mapping[Kind, str] = {
    kind: f"task/Task_{'' if kind == 'creativity' else 'Spatial_'}{kind.capitalize()}.json" for kind in KINDS
}
MAX_JSON_BYTES = 128 * 2**20
"""Per file; a published architecture has some 100 kB at most."""
MAX_IMAGE_BYTES = 64 * 2**20
MAX_HEADER_BYTES = 2**20
"""Most bytes before the size of a JPEG: notes and thumbnails of cameras."""
MAX_TAIL_BYTES = 2**16
"""What may stand after the end of a picture. A decoder fills what a shorter file lacks with grey."""
JPEG_QUALITY = 95
MAX_NAME = 300
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def missing(root: Path) -> list[str]:
    """Return files of the published layout that are missing; the data have no tasks of their kinds."""
    return [name for name in (ARCHITECTURES, *(TASKS[kind] for kind in KINDS)) if not (Path(root) / name).is_file()]


def read_rows(root: Path, name: str) -> list[Any]:
    """Read the list in a JSON file."""
    path = check_inside(Path(root) / name, root)
    value = parse_json(_read(path, MAX_JSON_BYTES), str(path))
    if not isinstance(value, list):
        raise DataError(f"{path}: expected one list of objects, got {short(value)}")
    return value


def image_path(root: Path, relative: str) -> Path:
    """Path of a picture."""
    try:
        return check_inside(Path(root) / "data" / plain_image(relative), Path(root))
    except (ValueError, OSError) as error:
        raise DataError(f"{root}: the picture {short(relative)}: {error}") from None


def plain_image(name: str) -> str:
    """A picture's path within the folder data, however a file spells it."""
    parts = [part for part in PurePosixPath(name.strip()).parts if part not in ("/", "//", ".")]
    parts = parts[1:] if parts[:1] == ["data"] else parts
    printable = name.isprintable() and len(name) <= MAX_NAME and "\\" not in name
    if not printable or not parts or ".." in parts or parts[0].endswith(":"):
        raise ValueError(f"{short(name)} is no name of a picture; give one such as /data/images/wiki/hut.png")
    return "/".join(parts)


def read_image(root: Path, relative: str) -> Image:
    """Read a PNG or JPEG file as (H, W, 3) uint8 RGB; transparent parts become white."""
    import cv2

    path = image_path(root, relative)
    data = _read(path, MAX_IMAGE_BYTES)
    _size(path, data)
    if (b"IEND" if data[:8] == _PNG else b"\xff\xd9") not in data[-MAX_TAIL_BYTES:]:
        raise DataError(f"{path}: the picture is damaged, its end is missing; write or download it again")
    try:
        # Palettes and grey become colours; the transparency of a PNG is kept to lay the picture on white.
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        whole = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data[:8] == _PNG else None
    except cv2.error:
        image = whole = None
    if image is None:
        raise DataError(f"{path}: the picture is damaged; write or download it again")
    rgb = np.ascontiguousarray(np.asarray(image, np.uint8)[..., ::-1])
    if whole is not None and whole.ndim == 3 and whole.shape[2] == 4 and whole.shape[:2] == rgb.shape[:2]:
        alpha: Any = np.asarray(whole[..., 3])  # of 8 or 16 bits
        share = (alpha.astype(np.float32) / np.iinfo(alpha.dtype).max)[..., None]
        rgb = np.asarray(np.rint(rgb * share + 255 * (1 - share)), np.uint8)
    return rgb


def image_size(root: Path, relative: str) -> tuple[int, int]:
    """Read (width, height) of an image from its header."""
    path = image_path(root, relative)
    return _size(path, _read(path, MAX_IMAGE_BYTES, MAX_HEADER_BYTES))


def write_image(root: Path, relative: str, image: Image) -> None:
    """Write a picture (H, W, 3) uint8 RGB, whole or not at all: JPEG for .jpg and .jpeg, else PNG."""
    import cv2

    path = image_path(root, relative)
    ending = path.suffix.lower()
    if ending not in (".png", ".jpg", ".jpeg"):
        raise DataError(f"{path}: pictures are written as .png or .jpg; rename it")
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise ShapeError(f"a picture needs (H, W, 3) uint8, got {image.shape} {image.dtype}")
    if ending == ".png":
        write_file(path, png(image))
        return
    settings = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    _, data = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), settings)
    write_file(path, data.tobytes())


def image_digest(root: Path, relative: str) -> str:
    """Return the SHA-256 of an image's bytes in hex; "unreadable" if it cannot be read, a fault of its tasks alone."""
    try:
        path = image_path(root, relative)
        _read(path, MAX_IMAGE_BYTES, head=0)  # within the limits
        return digest_of_file(path)
    except (DataError, OSError):
        return "unreadable"


def _read(path: Path, limit: int, head: int | None = None) -> bytes:
    """A file, or its first `head` bytes; refused where it is larger than `limit`."""
    try:
        if not path.is_file():
            raise DataError(f"{path}: no such file; download or write it again")
        if path.stat().st_size > limit:
            raise DataError(f"{path}: passes the limit of {limit} bytes")
        with open(path, "rb") as file:
            return file.read(limit if head is None else head)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _size(path: Path, data: bytes) -> tuple[int, int]:
    """(width, height) as the header of a PNG or JPEG says, within the limit."""
    size: tuple[int, int] | None = None
    if data[:8] == _PNG and len(data) >= 24 and data[12:16] == b"IHDR":
        size = struct.unpack(">II", data[16:24])
    elif data[:3] == _JPEG:
        size = _jpeg_size(data)
    if size is None:
        raise DataError(f"{path}: neither a PNG nor a JPEG picture; write or download it again")
    width, height = size
    if not 0 < width * height <= MAX_PIXELS:
        raise DataError(f"{path}: {width}x{height} pixels are none or pass the limit of {MAX_PIXELS}")
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Size in the frame header, which is the first segment numbered C0 to CF that is no table."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF:  # fill
            at += 1
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return int(width), int(height)
        at += 2 + max(2, struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def write(root: Path, architectures: Iterable[Architecture], tasks: Iterable[BuildTask]) -> None:
    """Write data/architectures.json and a file per kind, sorted by id; other files go. Images come before."""
    root = Path(root)
    builds = _distinct(architectures, "architectures")
    rows = _distinct(tasks, "tasks")
    known = {build.id for build in builds}
    for task in rows:
        if task.kind in NEEDS_TRUTH and task.architecture not in known:
            raise DataError(
                f"{root}: task {task.id} is of architecture {task.architecture}, which is not given; add it"
            )
    _put(root / ARCHITECTURES, map(_architecture, builds))
    for kind in KINDS:
        path = root / TASKS[kind]
        if of_kind := [_task(task) for task in rows if task.kind == kind]:
            _put(path, of_kind)
        else:
            path.unlink(missing_ok=True)


def _architecture(one: Architecture) -> dict[str, Any]:
    size = one.blueprint.size
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "data_resource": one.source,
        "3d_info": {"width": size.width, "height": size.height, "depth": size.depth},
        "difficulty_factor": one.difficulty,
        "image": None if one.image is None else f"./{one.image}",
        "block_materials": list(one.blueprint.materials),
        "blueprint": one.blueprint.rows(),
        "type": one.type,
        "biome": one.biome,
        "image_urls": None if one.image_urls is None else list(one.image_urls),
        "metadata": one.metadata,
    }


def _task(task: BuildTask) -> dict[str, Any]:
    row: dict[str, Any] = {"id": task.id, "instruction": task.instruction}
    images: Any = [f"/data/{name}" for name in task.images]
    if task.kind in BUILD_KINDS:
        images = images[0] if len(images) == 1 else images or None
        row |= {"AR_id": task.architecture, "block_materials": list(task.materials)}
    row |= {
        "difficulty_factor": task.difficulty,
        "image": None if task.kind == "reasoning" else images,
        "image_desp": list(task.captions) or None,
        "options_image": None if task.options_image is None else f"/data/{task.options_image}",
        "options": [f"/data/{name}" for name in task.options] or None,
        "metadata": task.metadata,
    }
    if task.kind in ("reasoning", "commonsense"):
        row |= {"answer": task.answer, "env": task.env}
    return row


def _distinct(rows: Iterable[Any], what: str) -> list[Any]:
    """Sorted by id, in the order of the numbers within."""
    in_order = sorted(rows, key=lambda row: (natural_key(row.id), row.id))
    for row, following in pairwise(in_order):
        if row.id == following.id:
            raise DataError(f"the id '{row.id}' is there twice among the {what}; give every one its own")
    for row in in_order:
        check_name(row.id, what)
    return in_order


def _put(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A list with one object a line, so that a change of one shows as one."""
    with atomic_file(path) as file:
        file.write(b"[")
        for number, row in enumerate(rows):
            line = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            file.write((",\n" if number else "\n").encode() + line.encode())
        file.write(b"\n]\n")
