"""Reading post-training data back: one trajectory, or the index over all, and the proof that no scene is tested on."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import number_of, poses_of, short, whole_of, world_of
from worldgauge.core.image import MAX_PIXELS, decode_png
from worldgauge.core.io import check_inside, list_folder, parse_json, write_file
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.closedloop.training_data.coverage import write as written
from worldgauge.suites.closedloop.training_data.coverage.record import Depth, Facts, Source, Step, Trajectory
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive

INDEX = "index.json"
MAX_STEPS_BYTES = 256 * 2**20
MAX_STEPS = 200_000


class Entry(NamedTuple):
    """A trajectory in the index."""

    scene: str
    number: int
    frames: int


@dataclass(frozen=True)
class Index:
    """All trajectories of a folder. scenes: name -> `scene_hash`; split_hash: SHA-256 over the sorted hashes."""

    split: str
    scenes: Mapping[str, str]
    trajectories: tuple[Entry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all trajectories."""
        return sum(entry.frames for entry in self.trajectories)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Entry, int]:
        """A trajectory, as likely as it is long, and the first of n consecutive frames in it (specification, 10.4).

        Raises DataError when none has n frames.
        """
        long = [entry for entry in self.trajectories if entry.frames >= n]
        if not long:
            raise DataError(f"no trajectory has {n} frames; ask for shorter clips")
        weights = np.array([entry.frames for entry in long], np.float64)
        entry = long[int(rng.choice(len(long), p=weights / weights.sum()))]
        return entry, int(rng.integers(entry.frames - n + 1))


def write_index(root: Path, split: str) -> Index:
    """Look through the trajectories of a folder and put <root>/index.json in place.

    split: what the scenes are of, such as "train". Raises DataError when a trajectory cannot be read.
    """
    entries, scenes = [], {}
    for folder in folders(root):
        manifest = read_manifest(folder)
        entries.append(Entry(manifest["scene"], manifest["number"], manifest["frames"]))
        scenes[manifest["scene"]] = scene_hash(manifest["scene"], _world(manifest, folder))
    content = {
        "format": written.FORMAT,
        "version": written.VERSION,
        "split": split,
        "split_hash": split_hash(scenes.values()),
        "scenes": dict(sorted(scenes.items())),
        "frames": sum(entry.frames for entry in entries),
        "trajectories": [entry._asdict() for entry in entries],
    }
    write_file(Path(root) / INDEX, json.dumps(content, indent=1) + "\n")
    return read_index(root)


def read_index(root: Path) -> Index:
    """The index of a folder. Raises DataError naming the field when it is none, or its hash is not of its scenes."""
    path = Path(root) / INDEX
    content = read_json(path)
    try:
        if content["format"] != written.FORMAT or content["version"] != written.VERSION:
            raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")
        scenes = {str(scene): str(hash) for scene, hash in content["scenes"].items()}
        entries = tuple(
            Entry(str(row["scene"]), whole_of(row, "number", 0, 10**6 - 1), whole_of(row, "frames", 1, MAX_STEPS))
            for row in content["trajectories"]
        )
        found = Index(str(content["split"]), scenes, entries, str(content["split_hash"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {why}; write the index again") from error
    if found.split_hash != split_hash(scenes.values()):
        raise DataError(f"{path}: field 'split_hash' is not that of its scenes; write the index again")
    return found


def scene_hash(scene: str, world: WorldFacts | None) -> str:
    """What a scene is, whatever it is called: SHA-256 of its cells where they are known, else of its world or scan."""
    if world is None:
        scan = re.search(r"[A-Za-z0-9]{11}(?=(\.basis)?(\.glb)?$)", scene)
        told: Any = ["scan", scan.group() if scan else scene]
    elif world.digest is not None:
        told = ["cells", world.digest]
    else:
        told = ["world", world.name, dict(world.params)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def split_hash(hashes: Iterable[str]) -> str:
    """SHA-256 over scene hashes, whatever their order: what a trained model says it has seen."""
    return hashlib.sha256("\n".join(sorted(set(hashes))).encode()).hexdigest()


def overlap(index: Index, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Those of the evaluation's `scenes` that the trajectories show as well, under whatever name; () when disjoint."""
    shown = set(index.scenes.values())
    return tuple(scene for scene, world in scenes.items() if scene_hash(scene, world) in shown)


def read_trajectory(folder: Path) -> Trajectory:
    """The trajectory in a folder; steps are read and checked, frames and depth when asked for.

    Raises DataError naming the file and the field or line.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    count, size = manifest["frames"], (manifest["width"], manifest["height"])
    try:
        facts = Facts(
            world=_world(manifest, folder),
            licence=str(manifest["licence"]),
            camera_height_m=number_of(manifest, "camera_height_m", 0.0, 10.0),
            seed=manifest.get("seed"),
            more=dict(manifest.get("more") or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / written.MANIFEST}: {error}; collect it again") from error
    steps = tuple(_steps(folder, manifest["scene"]))
    if len(steps) != count:
        raise DataError(f"{folder / written.STEPS}: {len(steps)} steps for {count} frames; collect it again")
    return Trajectory(
        scene=manifest["scene"],
        number=manifest["number"],
        steps=steps,
        frames=_frames(folder, manifest["images"], count, size),
        depth=lambda k: read_depth(folder, k, size),
        facts=facts,
    )


def folders(root: Path) -> Iterator[Path]:
    """Folders of the trajectories below `root`, by scene and number. Raises DataError for links that lead out."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    for scene in (path for path in list_folder(root) if path.is_dir()):
        for folder in list_folder(check_inside(scene, root)):
            if folder.is_dir() and (folder / written.MANIFEST).exists():
                yield check_inside(folder, root)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a trajectory, with scene, number, frames, width, height and images checked. Raises DataError."""
    path = folder / written.MANIFEST
    content = read_json(path)
    try:
        if content["format"] != written.FORMAT or content["version"] != written.VERSION:
            raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")
        whole_of(content, "frames", 1, MAX_STEPS)
        number = whole_of(content, "number", 0, 10**6 - 1)
        width, height = whole_of(content, "width", 2, MAX_PIXELS), whole_of(content, "height", 1, MAX_PIXELS)
        if width * height > MAX_PIXELS:
            raise ValueError(f"fields 'width' and 'height': {width}x{height} pixels pass the limit of {MAX_PIXELS}")
        if (content["scene"], written.trajectory_name(number)) != (folder.parent.name, folder.name):
            raise ValueError(
                f"fields 'scene' and 'number' are {short(content['scene'])} and {number}, not its folder's"
            )
        if content["images"] not in ("video", "png"):
            raise ValueError(f"field 'images' is {short(content['images'])}; give video or png")
    except (KeyError, TypeError, ValueError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {why}; collect it again") from error
    return dict(content)


def read_depth(folder: Path, k: int, size: tuple[int, int]) -> Depth:
    """Depth (H, W) in metres of frame k, infinite where nothing was hit. Raises DataError when it cannot be read."""
    path = folder / written.DEPTH
    try:
        with zipfile.ZipFile(path) as packed, packed.open(f"{k:06d}.npy") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            if shape != (size[1], size[0]) or dtype != np.uint16:
                raise ValueError(f"frame {k} is {short(shape)} {dtype}, not {(size[1], size[0])} uint16")
            data = file.read(2 * size[0] * size[1])
            values = np.frombuffer(data, np.uint16).reshape(shape)
    except KeyError as error:
        raise DataError(f"{path}: frame {k} is missing; collect it again") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); collect it again") from error
    return np.where(values > 0, values / np.float32(1000), np.float32(np.inf)).astype(np.float32)


def _frames(folder: Path, images: str, count: int, size: tuple[int, int]) -> Clip:
    if images == "png":
        place = folder / written.IMAGES
        source = Source(lambda k: picture(place / f"{k:06d}.png", size))
        return Clip(source, range(count), NAV_STEPS.fps, size)
    clip = Clip.open(folder / written.VIDEO)
    if (len(clip), clip.width, clip.height) != (count, *size):
        raise DataError(f"{folder / written.VIDEO}: {len(clip)} frames of {clip.width}x{clip.height}; collect it again")
    return clip


def picture(path: Path, size: tuple[int, int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A PNG of a known size (width, height). Raises DataError for another, and when it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    image = decode_png(data, str(path))
    if image.shape[1::-1] != size:
        raise DataError(f"{path}: is {image.shape[1]}x{image.shape[0]}, the others {size[0]}x{size[1]}")
    return image


def _steps(folder: Path, scene: str) -> Iterator[Step]:
    path = folder / written.STEPS
    try:
        if path.stat().st_size > MAX_STEPS_BYTES:
            raise DataError(f"{path}: passes the limit of {MAX_STEPS_BYTES} bytes; collect shorter walks")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    for k, line in enumerate(lines):
        row = parse_json(line, f"{path}: line {k + 1}")
        try:
            if whole_of(row, "k", 0, MAX_STEPS) != k or row["scene"] != scene or type(row["collided"]) is not bool:
                raise ValueError("field 'k', 'scene' or 'collided' is not what it should be")
            action = Primitive(whole_of(row, "action", 1, 4))
            pose = poses_of([row["pose"]], "pose")[0]
            yield Step(action, pose, row["collided"], whole_of(row, "goal_index", 0, MAX_STEPS))
        except (KeyError, TypeError, ValueError) as error:
            why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{path}: line {k + 1}: {why}; collect it again") from error


def _world(manifest: Mapping[str, Any], folder: Path) -> WorldFacts | None:
    told = manifest.get("world")
    try:
        return None if told is None else world_of(told)
    except (TypeError, ValueError) as error:
        raise DataError(f"{folder / written.MANIFEST}: field 'world': {error}; collect it again") from error
