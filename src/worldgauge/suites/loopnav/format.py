"""LoopNav's published format: loop walks as a Motion JPEG video and a JSON record of every frame.

On disk: <type>/<location>/<range>/<stamp>.avi and .json, and a manifest
that names the world they show.
Files are in the game's frame: x, y up, z in blocks of one metre, yaw 0 to -z, left positive. Episodes
are in ours: (x, y, z) -> (x, -z, y), yaw + pi/2, the camera EYE_HEIGHT_M above the feet.

Example:
    for trajectory in discover(root):
        episode = load(trajectory, worlds_of(root).get(trajectory.location))
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import Stamp, check_name, digest_of, parse_json, stamp_of, write_file
from worldgauge.core.video import Clip, Writer
from worldgauge.suites.loopnav import format_records
from worldgauge.suites.loopnav.format_records import Fault, WalkMeasures
from worldgauge.worlds import files_of, located
from worldgauge.worlds.recorded import with_truth
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M, VERTICAL_FOV_DEG
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
    captions: Sequence[tuple[int, str]] = (),
) -> Path:
    """Write `walk` as <type>/<location>/<radius>/<stamp>.avi and .json.

    `frames` are uint8 RGB, (H, W, 3) or chunks (n, H, W, 3). Records come last: a trajectory that has them is complete.
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
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in _rows(walk, extra, dict(captions)))
    write_file(records, f"[\n{rows}\n]\n")
    return records


def write_manifest(root: Path, locations: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> Path:
    """Record the world of every location; locations that the folder already has are kept."""
    known = _recorded(root)
    for name, facts in locations.items():
        if known.get(check_name(name, "manifest"), facts) != facts:
            raise DataError(f"{root}: '{name}' is already there with another world; collect into another folder")
    content = {
        "format": MANIFEST_FORMAT,
        "version": MANIFEST_VERSION,
        "settings": dict(settings),
        "locations": {
            name: {"world": facts.name, "params": dict(facts.params), "digest": facts.digest}
            for name, facts in sorted({**known, **locations}.items())
        },
        "camera": {"vertical_fov_deg": VERTICAL_FOV_DEG, "eye_height_m": EYE_HEIGHT_M},
    }
    path = Path(root) / MANIFEST
    write_file(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")
    return path


def worlds_of(root: Path) -> dict[str, WorldFacts]:
    """World of every location, from the manifest; empty for published data, which have none."""
    return {name: located(facts, Path(root)) for name, facts in _recorded(root).items()}


def pictures_of(root: Path) -> str:
    """Who drew the frames: another renderer's name from the manifest, else "ours", our own camera."""
    path = Path(root) / MANIFEST
    content = parse_json(format_records.read_bytes(path), str(path)) if path.exists() else {}
    game = content.get("settings", {}).get("game") if isinstance(content, dict) else None
    return str(game.get("pictures", "ours")) if isinstance(game, dict) else "ours"


def _recorded(root: Path) -> dict[str, WorldFacts]:
    """What the manifest says, word for word."""
    path = Path(root) / MANIFEST
    if not path.exists():
        return {}
    content = parse_json(format_records.read_bytes(path), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected an object; remove or repair the manifest")
    version: int = _field(content, "version", int, str(path))
    if version > MANIFEST_VERSION:
        raise DataError(f"{path}: version {version} is newer than this worldgauge; update it")
    _field(content, "settings", dict, str(path))
    locations: dict[str, Any] = _field(content, "locations", dict, str(path))
    worlds = {}
    for name in locations:
        row: dict[str, Any] = _field(locations, name, dict, f"{path}: locations")
        where = f"{path}: location '{check_name(name, str(path))}'"
        digest = None if row.get("digest") is None else _field(row, "digest", str, where)
        worlds[name] = WorldFacts(_field(row, "world", str, where), _field(row, "params", dict, where), digest)
    return worlds


def _rows(walk: Walk, extra: Mapping[str, Any], captions: Mapping[int, str]) -> Iterable[dict[str, Any]]:
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
                **dict.fromkeys(format_records.HELD_KEYS, False),
            },
            "goal": None if goal is None else _game_goal(goal),
            "frame_count": FIRST_FRAME + t,
            "extra_info": extra,
            **({"caption": captions[t]} if t in captions else {}),
        }


def _game_goal(goal: WalkGoal) -> dict[str, int]:
    """Our cell (i, j, k) is the game's block (i, k, -j - 1)."""
    block = {"x": goal.x} if goal.z is None else {"x": goal.x, "y": goal.z}
    block["z"] = -goal.y - 1
    return block if goal.range_sq is None else {**block, "rangeSq": goal.range_sq}


def _rounded(value: float) -> float:
    return round(float(value), 3) + 0.0  # no "-0.0"


def _field(row: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    """A field that must be there and of this type."""
    words = {dict: "an object", int: "a whole number", str: "text"}
    if name not in row:
        raise DataError(f"{where}: field '{name}' is missing; remove or repair the manifest")
    if type(row[name]) is not kind:
        raise DataError(f"{where}: field '{name}' must be {words[kind]}; remove or repair the manifest")
    return row[name]


TYPES: tuple[LoopKind, ...] = ("ABA", "ABCA")
INDEX_FILE = ".worldgauge-index.json"
INDEX_VERSION = 4
"""Grows whenever a rule or a measure changes: older index files are then read as empty."""

MAX_INDEX_BYTES = 256 * 2**20
Split = Literal["train", "validation", "test"]

_VILLAGE = re.compile(r".+_village_(\d{1,6})")
Selection = Literal["all", "paper"]
TEST_VILLAGE = 20
PER_VILLAGE = 3


@dataclass(frozen=True)
class LoopFiles:
    """The two files of one loop, which may be missing. radius: range in blocks."""

    folder: Path
    type: LoopKind
    location: str
    radius: int
    stamp: str

    @cached_property
    def stamps(self) -> tuple[Stamp | None, ...]:
        """Of video and records, None where there is none, or a link to nothing."""
        return stamp_of(self.video), stamp_of(self.records)

    @property
    def id(self) -> str:
        """Path without suffix, in the published order."""
        return f"{self.type}/{self.location}/{self.radius}/{self.stamp}"

    @property
    def video(self) -> Path:
        """The Motion JPEG video."""
        return self.folder / f"{self.stamp}.avi"

    @property
    def records(self) -> Path:
        """The JSON file."""
        return self.folder / f"{self.stamp}.json"


@dataclass(frozen=True)
class LoopTrajectory(LoopFiles):
    """One recorded loop on disk.

    Attributes:
        return_index: First frame of the way back by the released rule; `exact_return_index` goes by changes of the
            goal.
        first_return_index: First frame of the first way back, for several laps.
        fault: Code of why it is left out, else None; `invalid` is the same as a line of text.
        fingerprint: SHA-256 over both files, without the world (see `fingerprint_of`).
    """

    n_frames: int
    return_index: int | None
    exact_return_index: int | None
    first_return_index: int | None
    flags: tuple[str, ...]
    fault: Fault | None
    invalid: str | None
    fingerprint: str
    measures: WalkMeasures | None

    @property
    def village_index(self) -> int | None:
        """Number of the village, such as 20 of plains_village_20; None for other places."""
        village = _VILLAGE.fullmatch(self.location)
        return int(village[1]) if village else None

    @property
    def split(self) -> Split | None:
        """Split of its village; None for other places and other numbers."""
        return None if self.village_index is None else split_of(self.village_index)


def split_of(village_index: int) -> Split | None:
    """Split of a village: 1-16 train, 17-18 validation, 19-20 test (paper, appendix B.1); None for other numbers."""
    splits: tuple[tuple[int, Split], ...] = ((16, "train"), (18, "validation"), (20, "test"))
    return next((split for last, split in splits if 1 <= village_index <= last), None)


def discover(root: Path) -> list[LoopTrajectory]:
    """All trajectories, sorted by id; unchanged files come from an index in `root`, else in the user's cache."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    index_path = _index_path(root)
    known = _read_index(index_path)
    entries: dict[str, Any] = {}
    found: dict[str, LoopTrajectory] = {}
    try:
        for pair in _scan(root):
            key = (pair.folder / pair.stamp).relative_to(root).as_posix()
            entry = known.get(key)
            trajectory = _recall(pair, entry)
            if trajectory is None:
                trajectory = _examine(pair)
                examined = {name: value for name, value in asdict(trajectory).items() if name in _EXAMINED}
                entry = {"stamps": pair.stamps, **examined}
            if trajectory.id in found:
                raise DataError(f"{root}: '{trajectory.id}' is there twice, in both folder orders; remove one")
            found[trajectory.id], entries[key] = trajectory, entry
    except BaseException:
        # The first look at a published set takes minutes: what was learned before an interrupt is kept.
        _write_index(index_path, {**known, **entries})
        raise
    if entries != known:
        _write_index(index_path, entries)
    return [found[name] for name in sorted(found)]


def find(root: Path, id: str) -> LoopTrajectory | None:
    """One trajectory of a folder by its id; no other is read. None where there is none."""
    parts = [check_name(part, id) for part in id.split("/")]
    kind = next((kind for kind in TYPES if kind == parts[0]), None)
    if kind is not None and len(parts) == 4 and parts[2].isdecimal():
        location, radius, stamp = parts[1:]
        orders = [(location, radius)] if location.isdigit() else [(location, radius), (radius, location)]
        for outer, inner in orders:
            pair = LoopFiles(_base(Path(root)) / kind / outer / inner, kind, location, int(radius), stamp)
            if any(pair.stamps):
                return _examine(pair)
    # A range may be spelled otherwise in the folder, such as 05.
    return next((one for one in discover(root) if one.id == id), None)


def load(trajectory: LoopTrajectory, world: WorldFacts | None = None, pictures: str = "ours") -> Episode:
    """Read a trajectory as an Episode in our frame; frames are decoded when needed.

    Row t of the actions has the keys of record t and the camera change of record t + 1: a record holds the turn that
    led to it.
    """
    records = format_records.read_records(trajectory.records)
    clip = Clip.open(trajectory.video)
    if len(records) != len(clip):
        raise DataError(f"{trajectory.video}: {len(clip)} frames, but {len(records)} records in its JSON file")
    walk = format_records.walk_of(records, trajectory.type, trajectory.radius)
    facts = {
        "type": trajectory.type,
        "location": trajectory.location,
        "range": trajectory.radius,
        "seed": walk.seed,
        "split": trajectory.split,
        "return_index": trajectory.return_index,
        "exact_return_index": trajectory.exact_return_index,
        "goal_changes": format_records.goal_changes([record.goal for record in records]),
        "flags": list(trajectory.flags),
        "pictures": pictures,
        "captions": [[frame, one.caption] for frame, one in enumerate(records) if one.caption],
    }
    episode = Episode(
        id=trajectory.id,
        clip=clip,
        poses=walk.poses,
        actions=aligned_actions(walk),
        camera=Camera.from_vertical_fov(clip.width, clip.height, VERTICAL_FOV_DEG),
        world=world,
        facts=facts,
    )
    return with_truth(episode)


def fingerprint_of(trajectory: LoopTrajectory, world: WorldFacts | None) -> str:
    """Digest a recording and the content of its world, since baselines and labels are made from the world."""
    facts = None
    if world is not None:
        params = {name: value for name, value in world.params.items() if name not in files_of(world.name)}
        facts = [world.name, params, world.digest]
    return digest_of(json.dumps([trajectory.fingerprint, facts], sort_keys=True, allow_nan=False))


def aligned_actions(walk: Walk) -> Actions:
    """Actions of a walk: keys of frame t and camera change of frame t + 1 drive frame t to t + 1."""
    columns = [walk.forward[:-1], walk.jump[:-1], walk.camera[1:, 0], walk.camera[1:, 1]]
    return Actions(LOOP_WALK, np.stack(columns, axis=-1).astype(np.float32))


def select(trajectories: Iterable[LoopTrajectory], rule: Selection = "all") -> list[LoopTrajectory]:
    """The trajectories that `rule` evaluates, in the order given. Invalid ones are kept, for the caller to count."""
    if rule == "all":
        return list(trajectories)
    if rule != "paper":
        raise UsageError(f"unknown selection '{rule}'; choose 'all' or 'paper'")
    groups: dict[tuple[str, int, str], list[LoopTrajectory]] = defaultdict(list)
    for trajectory in sorted(trajectories, key=lambda t: t.id):
        if trajectory.village_index == TEST_VILLAGE:
            groups[trajectory.type, trajectory.radius, trajectory.location].append(trajectory)
    return [trajectory for group in groups.values() for trajectory in group[:PER_VILLAGE]]


def default_selection(root: Path) -> Selection:
    """The rule by default: "all" for data collected here, which have a manifest, "paper" for the published set."""
    return "all" if (Path(root) / MANIFEST).exists() else "paper"


_EXAMINED = {field.name for field in fields(LoopTrajectory)} - {field.name for field in fields(LoopFiles)}
"""What reading the files gives; the index holds it."""


def _scan(root: Path) -> Iterator[LoopFiles]:
    base = _base(root)
    for kind in TYPES:
        for outer in _folders(base / kind):
            for inner in _folders(outer):
                place, radius = (outer.name, inner.name)
                if outer.name.isdigit() and not inner.name.isdigit():
                    place, radius = radius, place
                if not (radius.isascii() and radius.isdigit() and len(radius) <= 6):
                    raise DataError(f"{inner}: expected a range in blocks as folder name, such as 15, got '{radius}'")
                location = check_name(place, str(inner))
                names = {
                    check_name(name, str(inner))
                    for name, _, suffix in (entry.name.rpartition(".") for entry in _entries(inner))
                    if name and suffix in ("avi", "json") and not name.startswith(".")
                }
                yield from (LoopFiles(inner, kind, location, int(radius), name) for name in sorted(names))


def _base(root: Path) -> Path:
    return root if any((root / kind).is_dir() for kind in TYPES) else root / "test_data"


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(Path(entry.path) for entry in _entries(path) if entry.is_dir() and not entry.name.startswith("."))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror})") from error


def _examine(pair: LoopFiles) -> LoopTrajectory:
    """Read both files once: the records, the number of frames (without decoding), the hashes."""
    seen = hashlib.sha256()
    n_frames, split, exact, first = 0, None, None, None
    flags: tuple[str, ...] = ()
    measures: WalkMeasures | None = None
    invalid: str | None = None
    fault: Fault | None = "incomplete"  # what a raise below means
    try:
        if None in pair.stamps:
            missing = "video" if pair.stamps[0] is None else "records"
            raise DataError(f"has no {missing}: {pair.stamp} is not complete, or a link in it leads nowhere")
        fault = "records"
        data = format_records.read_bytes(pair.records)
        seen.update(hashlib.sha256(data).digest())
        fault = "video"
        with open(pair.video, "rb") as file:
            seen.update(hashlib.file_digest(file, "sha256").digest())
        fault = "records"
        records = format_records.parse_records(data, pair.records.name)
        n_frames = len(records)
        if not records:
            raise DataError("holds no record")
        goals = [record.goal for record in records]
        split = format_records.return_index((records[0].x, records[0].z), goals)
        exact, first = format_records.exact_return_index(goals), format_records.first_return_index(goals)
        measures = format_records.measure(format_records.walk_of(records, pair.type, pair.radius), split)
        verdict = format_records.judge(records, measures, kind=pair.type, location=pair.location, radius=pair.radius)
        flags = verdict.flags
        fault = "video"
        decoded = len(Clip.open(pair.video))
        fault, invalid = verdict.fault, verdict.invalid
        if decoded != n_frames:
            fault, invalid = "lengths", f"{decoded} frames in the video, {n_frames} records"
    except (DataError, OSError) as error:
        invalid = str(error).replace(f"{pair.folder}{os.sep}", "")
    return LoopTrajectory(
        pair.folder, pair.type, pair.location, pair.radius, pair.stamp,
        n_frames, split, exact, first, flags, fault, invalid, seen.hexdigest(), measures,
    )  # fmt: skip


def _recall(pair: LoopFiles, entry: Any) -> LoopTrajectory | None:
    """The trajectory as the index has it; None when its files changed or the entry is not one of ours."""
    if not isinstance(entry, Mapping) or entry.get("stamps") != [one and list(one) for one in pair.stamps]:
        return None
    try:
        facts = {name: entry[name] for name in _EXAMINED}
        facts["flags"] = tuple(facts["flags"])
        facts["measures"] = None if facts["measures"] is None else WalkMeasures(**facts["measures"])
    except (KeyError, TypeError):
        return None
    return LoopTrajectory(pair.folder, pair.type, pair.location, pair.radius, pair.stamp, **facts)


def _index_path(root: Path) -> Path:
    if os.access(root, os.W_OK):
        return root / INDEX_FILE
    from platformdirs import user_cache_dir

    name = digest_of(str(root.resolve()))[:24]
    return Path(user_cache_dir("worldgauge")) / "loopnav" / f"{name}.json"


def _read_index(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > MAX_INDEX_BYTES:
            return {}
        content = parse_json(path.read_bytes(), str(path))
        entries = content["entries"] if content["version"] == INDEX_VERSION else {}
    except (OSError, DataError, KeyError, TypeError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _write_index(path: Path, entries: Mapping[str, Any]) -> None:
    """Best effort: without an index everything still works, only slower."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_text(json.dumps({"version": INDEX_VERSION, "entries": entries}, allow_nan=False), encoding="utf-8")
        os.replace(part, path)
    except OSError:
        return
