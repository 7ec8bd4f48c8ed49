"""Trajectories of post-training data: panoramas with depth, poses and actions; written atomically, read back.

On disk: <scene>/<number>/ with frames.mp4 (lossless) or frames/*.png, depth.npz (whole millimetres per frame, 0 for
none), steps.jsonl and manifest.json.

Example:
    write_trajectory(root, scene, 0, views, steps, facts)
    read_trajectory(folder).part(start, 14)
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts, number_of, poses_of, short, whole_of, world_of
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.core.image import MAX_PIXELS, Image, decode_png, write_png
from worldgauge.core.io import atomic_folder, check_name, digest_of, parse_json, write_file
from worldgauge.core.video import Clip, Writer
from worldgauge.suites.worldinworld.format.files import read_json
from worldgauge.suites.worldinworld.format.rows import habitat_camera, habitat_stance
from worldgauge.suites.worldinworld.format.training_records import (
    DEPTH,
    MANIFEST,
    STEPS,
    VIDEO,
    Depth,
    View,
    check_format,
    checked_view,
    put_depth,
    read_depth,
    read_lines,
    record_folders,
    refused,
    split_hash,
    write_record,
)
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, NAV_STEPS, Primitive, Stance, Steps

FORMAT, VERSION = "worldgauge-coverage", 1


IMAGES = "frames"


MAX_STEPS_BYTES = 256 * 2**20


MAX_STEPS = 200_000


class TrajectoryStep(NamedTuple):
    """One row: the action that led to frame k, and the (4, 4) camera-to-world pose of that frame."""

    action: Primitive
    pose: FloatArray
    collided: bool
    goal_index: int


@dataclass(frozen=True)
class TrajectoryFacts:
    """How a trajectory was made; `licence` is its scene's, "none" if there is no restriction."""

    world: WorldFacts | None
    licence: str = "none"
    camera_height_m: float = EYE_HEIGHT_M
    seed: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CoverageTrajectory:
    """One walk. `depth`: Frame number -> metres; None where not recorded."""

    scene: str
    number: int
    steps: tuple[TrajectoryStep, ...]
    frames: Clip
    depth: Callable[[int], Depth] | None
    facts: TrajectoryFacts

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def poses(self) -> FloatArray:
        """(T, 4, 4) camera-to-world."""
        return np.stack([step.pose for step in self.steps])

    def part(self, start: int, n: int) -> TrajectoryClip:
        """Cut a training clip."""
        if not (start >= 0 and n >= 1 and start + n <= len(self)):
            raise ShapeError(
                f"{self.scene}/{self.number}: frames {start} to {start + n - 1} are wanted, but it has {len(self)}"
            )
        rows = self.steps[start : start + n]
        # The action that led to the first frame is not part of the clip.
        actions = (Primitive.STOP, *(row.action for row in rows[1:]))
        return TrajectoryClip(self.frames[start : start + n], actions, np.stack([row.pose for row in rows]))


class TrajectoryClip(NamedTuple):
    """A training clip of n frames. `poses`: (n, 4, 4)."""

    frames: Clip
    actions: Steps
    poses: FloatArray


def write_trajectory(
    root: Path,
    scene: str,
    number: int,
    frames: Iterable[View],
    steps: Iterable[TrajectoryStep],
    facts: TrajectoryFacts,
    *,
    images: Literal["video", "png"] = "video",
) -> Path:
    """Write <root>/<scene>/<number>/, replacing an existing one; equal input gives equal bytes. Several processes may
    write at once; call `write_index` after them."""
    folder = Path(root) / check_name(scene, "coverage") / trajectory_name(number)
    with atomic_folder(folder) as part:
        size, count = _write_views(part, frames, images)
        rows = list(steps)
        if len(rows) != count or not count:
            raise DataError(f"{folder}: {count} frames for {len(rows)} steps; give one frame a step, and one at least")
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "scene": scene,
            "number": number,
            "frames": count,
            "width": size[0],
            "height": size[1],
            "projection": "equirectangular",
            "fov_deg": [360, 180],
            "images": images,
            "world": None if facts.world is None else asdict(facts.world),
            "licence": facts.licence,
            "camera_height_m": facts.camera_height_m,
            "seed": facts.seed,
            "more": dict(facts.more),
        }
        write_record(part, (step_row(k, row, scene, facts.camera_height_m) for k, row in enumerate(rows)), manifest)
    return folder


def trajectory_name(number: int) -> str:
    """Return the name of the folder of trajectory `number` of a scene."""
    if not 0 <= number < 10**6:
        raise DataError(f"trajectory {number} of a scene; number them from 0 to 999999")
    return f"{number:06d}"


def step_row(k: int, step: TrajectoryStep, scene: str, camera_height_m: float) -> dict[str, Any]:
    """One JSON line of steps.jsonl. coord and habitat_camera_coord are [position, rotation w x y z] in the simulator's
    frame; pose is camera-to-world in our frame."""
    pose = np.asarray(step.pose, np.float64)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ShapeError(f"step {k} needs a finite camera-to-world pose (4, 4), got {pose.shape}")
    x, y, z = pose[:3, 3].tolist()
    stance = Stance(x, y, float(yaw_pitch_from_pose(pose)[0]), z - camera_height_m)
    return {
        "k": k,
        "action": int(Primitive(step.action)),
        "pose": pose[:3].ravel().tolist(),
        "coord": habitat_stance(stance),
        "habitat_camera_coord": habitat_camera(pose),
        "collided": bool(step.collided),
        "scene": scene,
        "goal_index": int(step.goal_index),
    }


def read_trajectory(folder: Path) -> CoverageTrajectory:
    """Read the trajectory in a folder; steps are checked now, frames and depth are read on demand."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    count, size = manifest["frames"], (manifest["width"], manifest["height"])
    with refused(folder / MANIFEST):
        facts = TrajectoryFacts(
            world=scene_world(manifest, folder),
            licence=str(manifest["licence"]),
            camera_height_m=number_of(manifest, "camera_height_m", 0.0, 10.0),
            seed=manifest.get("seed"),
            more=dict(manifest.get("more") or {}),
        )
    steps = tuple(_steps(folder, manifest["scene"]))
    if len(steps) != count:
        raise DataError(f"{folder / STEPS}: {len(steps)} steps for {count} frames; collect it again")
    return CoverageTrajectory(
        scene=manifest["scene"],
        number=manifest["number"],
        steps=steps,
        frames=_frames(folder, manifest["images"], count, size),
        depth=lambda k: read_depth(folder, k, size),
        facts=facts,
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a trajectory, with scene, number, frames, width, height and images checked."""
    path = folder / MANIFEST
    content = read_json(path)
    with refused(path):
        check_format(content, FORMAT, VERSION)
        whole_of(content, "frames", 1, MAX_STEPS)
        number = whole_of(content, "number", 0, 10**6 - 1)
        width, height = whole_of(content, "width", 2, MAX_PIXELS), whole_of(content, "height", 1, MAX_PIXELS)
        if width * height > MAX_PIXELS:
            raise ValueError(f"fields 'width' and 'height': {width}x{height} pixels pass the limit of {MAX_PIXELS}")
        if (content["scene"], trajectory_name(number)) != (folder.parent.name, folder.name):
            raise ValueError(
                f"fields 'scene' and 'number' are {short(content['scene'])} and {number}, not its folder's"
            )
        if content["images"] not in ("video", "png"):
            raise ValueError(f"field 'images' is {short(content['images'])}; give video or png")
    return dict(content)


def picture(path: Path, size: tuple[int, int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Read a PNG as (H, W, 3) uint8; `size` is (width, height)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    image = decode_png(data, str(path))
    if image.shape[1::-1] != size:
        raise DataError(f"{path}: is {image.shape[1]}x{image.shape[0]}, the others {size[0]}x{size[1]}")
    return image


def scene_world(manifest: Mapping[str, Any], folder: Path) -> WorldFacts | None:
    """Return the world in the manifest of a trajectory; None if it has none."""
    world = manifest.get("world")
    with refused(f"{folder / MANIFEST}: field 'world'"):
        return None if world is None else world_of(world)


def _write_views(part: Path, frames: Iterable[View], images: str) -> tuple[tuple[int, int], int]:
    """Write images and depth; return (width, height) and their number."""
    count, size = 0, None
    if images == "png":
        (part / IMAGES).mkdir()
    with zipfile.ZipFile(part / DEPTH, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:

        def kept() -> Iterator[Image]:
            nonlocal count, size
            for view in frames:
                rgb, depth = checked_view(view, size, count)
                size = (rgb.shape[1], rgb.shape[0])
                put_depth(packed, count, depth)
                yield rgb
                count += 1

        if images == "png":
            for rgb in kept():
                write_png(part / IMAGES / f"{count:06d}.png", rgb)
        else:
            video: Writer | None = None
            for rgb in kept():
                video = video or Writer(part / VIDEO, fps=NAV_STEPS.fps, kind="lossless")
                video.write(rgb)
            if video is not None:
                video.close()
    return size or (0, 0), count


def _frames(folder: Path, images: str, count: int, size: tuple[int, int]) -> Clip:
    if images == "png":
        return Clip.rendered(lambda k: picture(folder / IMAGES / f"{k:06d}.png", size), count, NAV_STEPS.fps, size)
    clip = Clip.open(folder / VIDEO)
    if (len(clip), clip.width, clip.height) != (count, *size):
        raise DataError(f"{folder / VIDEO}: {len(clip)} frames of {clip.width}x{clip.height}; collect it again")
    return clip


def _steps(folder: Path, scene: str) -> Iterator[TrajectoryStep]:
    path = folder / STEPS
    for k, line in enumerate(read_lines(path, MAX_STEPS_BYTES, "collect shorter trajectories")):
        where = f"{path}: line {k + 1}"
        row = parse_json(line, where)
        with refused(where):
            if whole_of(row, "k", 0, MAX_STEPS) != k or row["scene"] != scene or type(row["collided"]) is not bool:
                raise ValueError("field 'k', 'scene' or 'collided' is not what it should be")
            action = Primitive(whole_of(row, "action", 1, 4))
            pose = poses_of([row["pose"]], "pose")[0]
            step = TrajectoryStep(action, pose, row["collided"], whole_of(row, "goal_index", 0, MAX_STEPS))
        yield step


INDEX = "index.json"


class TrajectoryEntry(NamedTuple):
    """A trajectory in the index."""

    scene: str
    number: int
    frames: int


@dataclass(frozen=True)
class TrajectoryIndex:
    """All trajectories of a folder."""

    split: str
    scenes: Mapping[str, str]
    trajectories: tuple[TrajectoryEntry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all trajectories."""
        return sum(entry.frames for entry in self.trajectories)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[TrajectoryEntry, int]:
        """Draw a clip: a trajectory in proportion to its length, then its first frame."""
        long = [entry for entry in self.trajectories if entry.frames >= n]
        if not long:
            raise DataError(f"no trajectory has {n} frames; choose fewer frames")
        weights = np.array([entry.frames for entry in long], np.float64)
        entry = long[int(rng.choice(len(long), p=weights / weights.sum()))]
        return entry, int(rng.integers(entry.frames - n + 1))


def write_index(root: Path, split: str) -> TrajectoryIndex:
    """Write <root>/index.json from the trajectories of a folder."""
    entries, scenes = [], {}
    for folder in record_folders(root):
        manifest = read_manifest(folder)
        entries.append(TrajectoryEntry(manifest["scene"], manifest["number"], manifest["frames"]))
        scenes[manifest["scene"]] = scene_hash(manifest["scene"], scene_world(manifest, folder))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "split": split,
        "split_hash": split_hash(scenes.values()),
        "scenes": dict(sorted(scenes.items())),
        "frames": sum(entry.frames for entry in entries),
        "trajectories": [entry._asdict() for entry in entries],
    }
    write_file(Path(root) / INDEX, json.dumps(content, indent=1) + "\n")
    return read_index(root)


def read_index(root: Path) -> TrajectoryIndex:
    """Read the index of a folder."""
    path = Path(root) / INDEX
    content = read_json(path)
    with refused(path, "write the index again"):
        check_format(content, FORMAT, VERSION)
        scenes = {str(scene): str(hash) for scene, hash in content["scenes"].items()}
        entries = tuple(
            TrajectoryEntry(
                str(row["scene"]), whole_of(row, "number", 0, 10**6 - 1), whole_of(row, "frames", 1, MAX_STEPS)
            )
            for row in content["trajectories"]
        )
        found = TrajectoryIndex(str(content["split"]), scenes, entries, str(content["split_hash"]))
    if found.split_hash != split_hash(scenes.values()):
        raise DataError(f"{path}: field 'split_hash' is not that of its scenes; write the index again")
    return found


def scene_hash(scene: str, world: WorldFacts | None) -> str:
    """Hash a scene independently of its name. `world`: The world; None for a scan."""
    if world is None:
        scan = re.search(r"[A-Za-z0-9]{11}(?=(\.basis)?(\.glb)?$)", scene)
        identity: Any = ["scan", scan.group() if scan else scene]
    elif world.digest is not None:
        identity = ["cells", world.digest]
    else:
        identity = ["world", world.name, dict(world.params)]
    return digest_of(json.dumps(identity, sort_keys=True))


def overlap(index: TrajectoryIndex, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Find evaluation scenes that are also trained on, whatever their names."""
    shown = set(index.scenes.values())
    return tuple(scene for scene, world in scenes.items() if scene_hash(scene, world) in shown)
