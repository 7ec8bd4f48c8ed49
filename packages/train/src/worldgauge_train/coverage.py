"""Collecting coverage walks for post-training: panoramas with depth, poses and actions, in homes that no test uses.

One item is one home. All its randomness comes from (seed, split, home). A home is done when all its clips are there,
each of which is written atomically; the index is made of all of them at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, Panorama
from worldgauge.engine.collect import SEEDS, plain_facts, views, world_seed_of
from worldgauge.engine.collection import (
    Collection,
    DataReport,
    DataTable,
    Finding,
    Item,
    Made,
    Spread,
    Tell,
    grouped,
    mean_text,
    spread,
)
from worldgauge.engine.options import option, plain
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.format.training_records import check_digests, record_folders
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.homes import SPLITS, scene_name, scene_seed, world_of
from worldgauge.worlds.scan.sources import scan_facts, scan_scenes, told_of
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, STEP_M, TURN_DEG, Primitive, Stance
from worldgauge_train.coverage_trajectory import (
    INDEX,
    CoverageTrajectory,
    TrajectoryEntry,
    TrajectoryFacts,
    TrajectoryStep,
    overlap,
    read_index,
    read_trajectory,
    trajectory_name,
    write_index,
    write_trajectory,
)
from worldgauge_train.coverage_trajectory import read_manifest as read_clip
from worldgauge_train.coverage_walks import (
    MOST_STEPS,
    PAPER,
    RELEASED,
    CoverageWalk,
    TourRules,
    coverage_walk,
    crowding,
    floor_area,
    point_count,
)

SIZE = (1024, 576)
"""Width and height of the panoramas that the paper's models are trained on."""
SCENES = 10
VILLAGES = "voxel"
"""World of villages."""
VILLAGE_M = 16.0
"""Side of the part of a village that is walked, in its middle, as large as a home. All of it would take hours."""
RADII_M = (3.0, 1.0)
"""Distances within which the floor counts as covered by a walk; the share is given for each."""

_MAX_SCENES, _MAX_POINTS = 100_000, 8000
_TRIED = 2
"""Homes walked through, without rendering, for an estimate."""
_PIXEL_BYTES: Mapping[str, float] = {"video": 1.3, "png": 1.85}
"""Bytes per pixel of image and depth on disk, measured in 2 homes at 1024x576; smaller images take slightly more."""
_RULES = ("parity", "n_points", "next_goal", "visit_radius_m")
"""Options that choose the rules of the walk; the manifest has the rules themselves."""


@dataclass(frozen=True)
class CoverageOptions:
    """Options of a collection of coverage walks."""

    world: str | None = option(
        None, 'Collect in your own scans ("scan") or in villages ("voxel").', choices=("scan", "voxel")
    )
    scenes: int | str = option(
        SCENES, "Number of homes, 0.5 GB each; or scan folders or keys.", low=1, high=_MAX_SCENES
    )
    size: tuple[int, int] = option(SIZE, "Width and height of a panorama in pixels.", low=16, high=8192)
    points: int | None = option(
        None, "Maximum number of sampled points per home. Default: all.", low=1, high=_MAX_POINTS
    )
    steps: int = option(MOST_STEPS, "Maximum number of steps in a home.", low=1, high=MOST_STEPS)
    parity: bool = option(False, "Use the rules of the released collector instead of the paper's.")
    n_points: Literal["max", "min"] | None = option(None, 'Number of sampled points: "max" or "min" of 1400 and 4/m².')
    next_goal: Literal["nearest", "near_2m"] | None = option(
        None, 'Choose the "nearest" waypoint, or one about 2 m away ("near_2m").'
    )
    visit_radius_m: float | None = option(
        None, "Distance in metres within which a waypoint counts as visited.", above=0, high=100, flag="visit_radius"
    )
    height_m: float = option(
        EYE_HEIGHT_M, "Height of the camera in metres. Paper's data: 1.5.", low=0.1, high=2.5, flag="height"
    )
    images: Literal["video", "png"] = option("video", 'Store frames as one lossless "video", or as "png" files.')
    split: str = option("train", 'Split of the homes: "train" or "val".', choices=SPLITS)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)

    @property
    def rules(self) -> TourRules:
        """The rules of the walk: the paper's or the released ones, with what is given."""
        given = {name: getattr(self, name) for name in _RULES[1:] if getattr(self, name) is not None}
        return replace(RELEASED if self.parity else PAPER, **given)


class CoverageCollection(Collection):
    """Walks through homes with depth, for post-training.

    More homes can be added to a collection.
    """

    name = "coverage"
    items_noun = "homes"
    Options = CoverageOptions
    fixed = ("seed", "split", "keys", "world", "size", "points", "steps", "rules", "height_m", "images")
    growing = ("scenes",)
    batched = True
    first_model = ""
    settings_first = True
    options: CoverageOptions

    def check_options(self) -> None:
        """Check that the split has enough homes, or that the scans are there."""
        if not self._scans():
            scene_seed(self.options.split, int(self.options.scenes) - 1)

    def settings(self) -> dict[str, Any]:
        """Return the options and the rules that they stand for; the world is named only where it is no home."""
        given = {name: value for name, value in plain(self.options).items() if name not in _RULES}
        given |= {"rules": asdict(self.options.rules), "height_m": float(self.options.height_m)}
        keys = self._scans()
        if keys:
            return {**given, "scenes": len(keys), "keys": ",".join(keys), **told_of(keys)}
        if given["world"] is None:
            del given["world"]
        return given

    def _scans(self) -> tuple[str, ...]:
        """Keys of the scans; empty in homes and villages."""
        options = self.options
        return scan_scenes(None if options.world == VILLAGES else options.world, options.scenes, options.split)

    def camera(self) -> Mapping[str, Any]:
        """Return the panorama camera and its height."""
        size, height_m = list(self.options.size), float(self.options.height_m)
        return {"height_m": height_m, "projection": "equirectangular", "size": size, "depth": "along the ray"}

    def items(self) -> Iterator[Item]:
        """Return one item per home or scan."""
        for number, (scene, _) in enumerate(_places(self.settings())):
            yield Item(scene, {"home": number}, place=scene)

    def is_done(self, item: Item) -> bool:
        """Whether all its clips are in place."""
        return _last_clip(self.out, item.id) is not None

    def make(self, item: Item, progress: Tell) -> Made:
        """Make all clips of one home; see `Collection.make`."""
        found = _last_clip(self.out, item.id)
        if found is None:
            _collect(self.out, item.id, item.args["home"], self.settings(), progress, self.device)
            found = _last_clip(self.out, item.id)
        if found is None:
            raise DataError(f"{self.out / item.id}: clips disappeared; stop what else writes there, then collect again")
        more = found["more"]
        discards = ("steps do not lead to a waypoint",) * more["given_up"]
        return Made(more["frames"], WorldFacts(**found["world"]), discards=discards)

    def finish(self, made: Mapping[str, Made]) -> None:
        """Make the index of all clips."""
        write_index(self.out, self.options.split)

    def estimate(self) -> Mapping[str, Any]:
        """Estimate frames, bytes and the most points in a home, from walks through the first homes."""
        settings = self.settings()
        walks = [
            _walk(_opened(facts), number, settings) for number, (_, facts) in enumerate(_places(settings)[:_TRIED])
        ]
        frames = round(sum(walk.frames for walk in walks) / len(walks) * settings["scenes"])
        width, height = self.options.size
        size = round(frames * width * height * _PIXEL_BYTES[self.options.images])
        return {"frames": frames, "bytes": size, "points": max(len(walk.points) for walk in walks)}

    def warnings(self) -> list[str]:
        """Warn if one of the first homes has so many sampled points that distances between them take long."""
        points, rules = self.options.points, self.options.rules
        if rules.n_points == "min" or (points is not None and crowding(points) is None):
            return []
        first = _places(self.settings())[:_TRIED]
        areas = (floor_area(Geodesic(_ground(_opened(facts), self.settings()))) for _, facts in first)
        counts = (point_count(area, rules) for area in areas)
        warning = crowding(max(count if points is None else min(count, points) for count in counts))
        return [] if warning is None else [warning]

    def summary(self) -> Mapping[str, Any]:
        """Return scenes and clips, the hash of their split, mean floor coverage, and points in a home."""
        index = read_index(self.out)
        first = [read_clip(self.out / scene / trajectory_name(0))["more"] for scene in index.scenes]
        radii = first[0]["covered"] if first else ()
        return {
            "scenes": len(index.scenes),
            "clips": len(index.trajectories),
            "split": index.split,
            "split_hash": index.split_hash,
            "covered": {radius: float(np.mean([one["covered"][radius] for one in first])) for radius in radii},
            "points": max((one["points"] for one in first), default=0),
        }

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Check steps, lengths and actions of the walks; see `Collection.check`."""
        return check(root, decode=decode).report()


def _collect(out: Path, scene: str, home: int, settings: Mapping[str, Any], progress: Tell, device: str | None) -> None:
    world = _opened(dict(_places(settings))[scene])
    walk = _walk(world, home, settings)
    facts = TrajectoryFacts(
        world=WorldFacts(**plain_facts(world.facts)),
        camera_height_m=settings["height_m"],
        seed=settings["seed"],
        more={
            "clips": len(walk.clips),
            "frames": walk.frames,
            "area_m2": round(walk.area_m2, 2),
            "points": len(walk.points),
            "waypoints": len(walk.waypoints),
            "legs": len(walk.goals),
            "given_up": walk.given_up,
            "covered": {f"{radius:g} m": round(walk.covered(radius), 4) for radius in RADII_M},
            "rules": settings["rules"],
        },
    )
    before = 0
    for number, clip in enumerate(walk.clips):
        rows = [
            TrajectoryStep(row.action, _eye(world, row.stance, settings), row.collided, row.goal_index) for row in clip
        ]
        poses = np.stack([row.pose for row in rows])

        def tell(done: int, _: int, before: int = before) -> None:
            progress(before + done, walk.frames)

        seen = ((view.rgb, view.depth) for view in views(world, poses, Panorama(*settings["size"]), tell, device))
        write_trajectory(out, scene, number, seen, rows, facts, images=settings["images"])
        before += len(rows)


def _eye(world: Walkable, stance: Stance, settings: Mapping[str, Any]) -> FloatArray:
    """Pose (4, 4) of the camera: over the floor of a scan or village, which need not lie at height 0."""
    if "world" in settings:
        stance = stance._replace(z=float(world.floor.height_at([stance.x, stance.y])))
    return stance.eye(settings["height_m"])


def _places(settings: Mapping[str, Any]) -> list[tuple[str, WorldFacts]]:
    """Name and world of every home, scan or village of a collection."""
    split, count = settings["split"], settings["scenes"]
    if "keys" in settings:
        return [(key.replace("/", "_"), scan_facts(key)) for key in settings["keys"].split(",")]
    if settings.get("world") == VILLAGES:
        # A village of each kind in turn; those of a split are in no other.
        seeds = (world_seed_of(settings["seed"], number, split) for number in range(count))
        return [
            (f"village-{split}-{number:04d}", WorldFacts(VILLAGES, {"kind": KINDS[number % len(KINDS)], "seed": seed}))
            for number, seed in enumerate(seeds)
        ]
    names = (scene_name(split, number) for number in range(count))
    return [(name, world_of(name)) for name in names]


def _opened(facts: WorldFacts) -> Walkable:
    return cast(Walkable, open_world(facts))


def _walk(world: Walkable, home: int, settings: Mapping[str, Any]) -> CoverageWalk:
    # That of a scan depends on its key, not on the scans beside it.
    own = settings["keys"].split(",")[home].encode() if "keys" in settings else [home]
    return coverage_walk(
        Geodesic(_ground(world, settings)),
        np.random.default_rng([settings["seed"], SPLITS.index(settings["split"]), *own]),
        rules=TourRules(**settings["rules"]),
        points=settings["points"],
        most_steps=settings["steps"],
    )


def _ground(world: Walkable, settings: Mapping[str, Any]) -> FloorPlan:
    """The floor that is walked: all of it, but of a village its middle."""
    floor = world.floor
    if settings.get("world") != VILLAGES:
        return floor
    size = round(VILLAGE_M / floor.cell_m)
    i, j = ((side - size) // 2 for side in floor.free.shape)
    part = (slice(i, i + size), slice(j, j + size))
    x, y = floor.origin
    return FloorPlan(floor.free[part], floor.height_m[part], (x + i * floor.cell_m, y + j * floor.cell_m), floor.cell_m)


def _last_clip(out: Path, scene: str) -> dict[str, Any] | None:
    """Return the manifest of the last clip of a home; None if clips are missing."""
    first = out / scene / trajectory_name(0)
    if not first.is_dir():
        return None
    try:
        count = int(read_clip(first)["more"]["clips"])
        last = [read_clip(out / scene / trajectory_name(number)) for number in range(count)][-1]
    except (DataError, KeyError, TypeError, ValueError, IndexError):
        return None
    return last


_SEVERITIES = ("error", "warning", "info")
_TOLERANCE_M, _TOLERANCE_DEG = 0.011, 0.01
"""A walker stops at whole centimetres."""


@dataclass(frozen=True)
class TrajectoryStatistics:
    """Results of `check`. `collided`: Share of forward steps that collided; None without any."""

    n_trajectories: int
    n_valid: int
    n_frames: int
    scenes: int
    steps: Spread | None
    metres: Spread | None
    collided: float | None
    actions: dict[str, int]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def report(self) -> DataReport:
        """Return the same statistics in the form that every check returns."""
        columns = ("", "scenes", "steps", "path,\nm", "collided", *(name.replace("_", " ") for name in self.actions))
        collided = "-" if self.collided is None else f"{self.collided:.1%}"
        means = (mean_text(self.steps), mean_text(self.metres))
        row = ("all", str(self.scenes), *means, collided, *map(str, self.actions.values()))
        notes = ("steps, path: of a trajectory; collided: forward steps that meet something",)
        table = DataTable("means over usable trajectories, and actions", columns, (row,), notes)
        counts = self.n_valid, self.n_trajectories, self.n_frames
        return DataReport("trajectories", *counts, self.findings, table, self.to_dict())


def check(root: Path, *, decode: bool = False, against: Path | None = None) -> TrajectoryStatistics:
    """Check every manifest, every step and the index; no scene may also be in the closed-loop folder `against`."""
    walks: list[CoverageTrajectory] = []
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    count = 0
    for folder in record_folders(root):
        count += 1
        name = f"{folder.parent.name}/{folder.name}"
        try:
            walk = read_trajectory(folder)
            if decode:
                check_digests(folder)
                for k, _ in enumerate(walk.frames):
                    if walk.depth is not None:
                        walk.depth(k)
        except DataError as error:
            errors.append((name, str(error).replace(f"{folder}/", "")))
            continue
        walks.append(walk)
        warnings += [(name, text) for text in _odd(walk)]
    findings = [
        *([] if count else [Finding("error", "holds no trajectory: <scene>/<number>/manifest.json")]),
        *grouped("error", "not usable", errors, "trajectory"),
        *grouped("warning", "odd", warnings, "trajectory"),
        *_of_index(Path(root), walks, errors, against),
    ]
    steps = [step for walk in walks for step in walk.steps[1:]]
    ahead = [step.collided for step in steps if step.action is Primitive.FORWARD]
    return TrajectoryStatistics(
        n_trajectories=count,
        n_valid=len(walks),
        n_frames=sum(len(walk) for walk in walks),
        scenes=len({walk.scene for walk in walks}),
        steps=spread(len(walk) for walk in walks),
        metres=spread(float(np.linalg.norm(np.diff(walk.poses[:, :3, 3], axis=0), axis=1).sum()) for walk in walks),
        collided=float(np.mean(ahead)) if ahead else None,
        actions={one.name.lower(): sum(step.action is one for step in steps) for one in Primitive},
        findings=tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))),
    )


def _odd(walk: CoverageTrajectory) -> Iterator[str]:
    """Return moves that do not match their actions."""
    if walk.steps[0].action is not Primitive.STOP:
        yield "the first action is not null"
    for k, (one, two) in enumerate(zip(walk.steps[:-1], walk.steps[1:], strict=True), 1):
        moved = float(np.linalg.norm(two.pose[:3, 3] - one.pose[:3, 3]))
        turn = one.pose[:3, :3].T @ two.pose[:3, :3]
        turned = float(np.degrees(np.arctan2(turn[0, 2], turn[2, 2])))  # to the right
        ahead = STEP_M if two.action is Primitive.FORWARD else 0.0
        right = {Primitive.TURN_RIGHT: TURN_DEG, Primitive.TURN_LEFT: -TURN_DEG}.get(two.action, 0.0)
        short = two.collided and two.action is Primitive.FORWARD
        if moved > ahead + _TOLERANCE_M or (moved < ahead - _TOLERANCE_M and not short):
            yield f"step {k}, {two.action.name.lower()}, moves {moved:.2f} m"
        elif abs((turned - right + 180) % 360 - 180) > _TOLERANCE_DEG and one.goal_index == two.goal_index:
            yield f"step {k}, {two.action.name.lower()}, turns {turned:.1f} degrees to the right"


def _of_index(
    root: Path, walks: list[CoverageTrajectory], errors: list[tuple[str, str]], against: Path | None
) -> Iterator[Finding]:
    if not (root / INDEX).exists():
        yield Finding("warning", f"no {INDEX}: which scenes were trained on cannot be shown; write it")
        return
    try:
        index = read_index(root)
    except DataError as error:
        yield Finding("error", str(error))
        return
    here = {TrajectoryEntry(walk.scene, walk.number, len(walk)) for walk in walks}
    if not errors and here != set(index.trajectories):
        text = f"{INDEX} lists {len(index.trajectories)} trajectories, {len(here)} are here; write it again"
        yield Finding("error", text)
    if against is None:
        return
    both = overlap(index, load(against).scenes)
    if both:
        yield Finding("error", f"{len(both)} scenes are tested on as well (first: {both[0]}): remove them, index again")
    else:
        text = f"no scene of split '{index.split}' ({index.split_hash[:12]}) is one of {against}"
        yield Finding("info", text)
