"""The run of a calibration: ask, decode, keep each answer's path, estimate, write."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, ActionSpace, describe
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, ShapeError, UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, invert, pose_from_yaw_pitch
from worldgauge.core.image import Frames, Image
from worldgauge.core.io import digest_of, dumps, parse_json, read_bytes, write_file
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel, checked_rollout, holds_videos, imagines
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import ResolvedModel, find_served, resolve_model
from worldgauge.engine.resume import LIVE, task_seed
from worldgauge.models.calibration import FORMAT, MAX_BYTES, NAME, TURNS, VERSION, digest_of_spec
from worldgauge.perception.decoders._tracks import follow
from worldgauge.perception.decoders._views import AGREE_PX, place
from worldgauge.perception.decoders.frames import LONGEST_SIDE_PX
from worldgauge.perception.pose_track import PoseTrack
from worldgauge.worlds import View, open_world
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.floor import Walkable
from worldgauge_lab.calibrate_estimate import (
    DEFAULT_SPACE,
    HORIZON,
    SPEEDS,
    ControlEstimates,
    ControlInput,
    ControlResult,
    Response,
    SpeedResult,
    StartImageMean,
    controls_of,
    displacement,
    estimate,
    keys_of,
    space_for,
)
from worldgauge_serve import next_length, resting

SOURCE = "known-depth"
KEY_POINTS, POINTS = 150, 450
"""Of the first frame: most key points, and most points with corners. Twice as many are no more exact."""
FEWEST_POINTS = 20
"""Fewer points that agree say nothing certain about a pose."""
LARGEST_STEP = 1.15
"""Ratio of the depths round a point beyond which it lies on an edge, where depth is not that of one surface."""


def poses_from_depth(first: Image, depth: ArrayLike, camera: Camera, frames: Frames) -> PoseTrack:
    """Camera-to-first-camera poses, in metres, of frames (n, H, W, 3) after a frame with depth (H, W) along the axis.
    Tracks points (Lucas-Kanade) and solves PnP; it ends when too few stay in view, so it suits short moves. Infinite
    depth is sky; "failed" without any placed frame."""
    known = np.asarray(depth, np.float64)
    size = (camera.height, camera.width)
    if first.shape[:2] != size or known.shape != size or frames.ndim != 4 or frames.shape[1:3] != size:
        raise ShapeError(
            f"a first frame {first.shape[:2]}, its depth {known.shape} and frames {frames.shape[1:3]} "
            f"need the size of the camera, {size}"
        )
    grey = (_gray(frame) for frame in (first, *frames))
    xy = follow(grey, {0}, range(len(frames) + 1), seeds=KEY_POINTS, most=POINTS).xy.astype(np.float64)
    distance = _depth_at(known, xy[0])
    kept = np.isfinite(distance)
    xy, distance = xy[:, kept], distance[kept]
    # Rays in units of the horizontal focal length, so that pixels need not be square.
    seen = (xy + 0.5 - [camera.cx, camera.cy]) * [1.0, camera.fx / camera.fy]
    points = np.concatenate([seen[0] / camera.fx, np.ones((len(distance), 1))], 1) * distance[:, None]
    agree_px = max(1.5, AGREE_PX * max(camera.width, camera.height) / LONGEST_SIDE_PX)
    poses, placed = np.tile(np.eye(4), (len(frames), 1, 1)), np.zeros(len(frames), np.bool_)
    for t in range(len(frames)):
        shown = np.isfinite(seen[t + 1, :, 0])
        found = place(points[shown], seen[t + 1, shown], camera.fx, agree_px=agree_px, least=FEWEST_POINTS)
        if found is not None:
            poses[t, :3, :3], poses[t, :3, 3], placed[t] = found.rotation, found.translation, True
    at = np.flatnonzero(placed)
    facts = {"points": len(points)}
    if not len(at):
        few = "the first frame has too few points" if len(points) < FEWEST_POINTS else "its points are found nowhere"
        return PoseTrack("failed", few, None, at, SOURCE, facts)
    why = "" if placed.all() else f"{len(at)} of {len(frames)} frames show enough of the first one"
    return PoseTrack("partial" if why else "ok", why, invert(poses[at]), at, SOURCE, facts)


def _depth_at(depth: FloatArray, xy: FloatArray) -> FloatArray:
    """Depth at points (n, 2), pixel centres at whole numbers, linear in 1 / depth; NaN at edges, borders and in the
    sky."""
    height, width = depth.shape
    left = np.floor(xy).astype(np.int64)
    inside = ((left >= 0) & (left < [width - 1, height - 1])).all(1)
    x, y = np.clip(left, 0, [width - 2, height - 2]).T
    corners = np.stack([depth[y, x], depth[y, x + 1], depth[y + 1, x], depth[y + 1, x + 1]])
    across, down = (xy - left).T
    weights = np.stack([(1 - across) * (1 - down), across * (1 - down), (1 - across) * down, across * down])
    whole = inside & np.isfinite(corners).all(0) & (corners > 0).all(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = whole & (corners.max(0) <= LARGEST_STEP * corners.min(0))
        return np.where(smooth, 1 / (weights / corners).sum(0), np.nan)


def _gray(frame: Image) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(frame), cv2.COLOR_RGB2GRAY), np.uint8)


CLEARANCE_M = 1.2
"""Room round a start: the longest move that is asked for is 0.8 m."""
NEAREST_M, FARTHEST_M = 2.0, 5.0
"""Depth of the middle half of the picture: nearer, a move leaves the view; farther, it hardly shows."""
EYE_M = 1.5
ENOUGH = 200
"""Corners that are enough to be followed; of more, a tiled wall has most."""
LEAST_SHARE = 0.01
"""Of the picture, to count as a kind of thing in it."""
_PLACES, _VIEWS = 12, 4


@dataclass(frozen=True)
class Start:
    """A start image (H, W, 3) uint8, its level camera-to-world pose, and depth (H, W) in metres along the axis."""

    name: str
    world: WorldFacts
    pose: FloatArray
    camera: Camera
    image: Image
    depth: NDArray[np.float32]


def start_names(count: int, seed: int) -> list[tuple[str, WorldFacts]]:
    """Names and worlds of start images, by turns in a voxel settlement and in a home."""
    found = []
    for n in range(count):
        number = seed + n // 2
        if n % 2 == 0:
            kind = KINDS[number % len(KINDS)]
            params = {"kind": kind, "seed": number, "size": (160, 160, 56)}
            found.append((f"voxel-{kind}-{number}", WorldFacts("voxel", params)))
        else:
            found.append((f"indoor-{number}", WorldFacts("indoor", {"seed": number})))
    return found


def find_start(name: str, facts: WorldFacts, camera: Camera, seed: int) -> Start:
    """The best of some views from open places of a world: many kinds of things and corners, at a few metres."""
    world = cast("Walkable", open_world(facts))
    rng = np.random.default_rng(seed)
    best: tuple[float, FloatArray, View] | None = None
    for pose in _poses(world, rng):
        view = world.view(pose, camera)
        value = _value(view)
        if best is None or value > best[0]:
            best = (value, pose, view)
    if best is None:
        raise WorldError(f"world '{facts.name}' {dict(facts.params)} has no place with {CLEARANCE_M} m of room")
    _, pose, view = best
    return Start(name, world.facts, pose, camera, view.rgb.copy(), view.depth.copy())


def _poses(world: Walkable, rng: np.random.Generator) -> Iterator[FloatArray]:
    floor = world.floor
    roomy = np.argwhere(floor.clearance_m >= min(CLEARANCE_M, 0.8 * float(floor.clearance_m.max())))
    if not len(roomy):
        return
    for cell in roomy[rng.integers(len(roomy), size=_PLACES)]:
        place = floor.points_of(cell)
        first = rng.uniform(-math.pi, math.pi)
        for turn in np.arange(_VIEWS) * 2 * math.pi / _VIEWS:
            yield pose_from_yaw_pitch((*place, float(floor.height_at(place)) + EYE_M), first + turn)


def _value(view: View) -> float:
    """Kinds of things in the picture, with enough corners on them; few where the middle is too near or too far."""
    import cv2

    grey = cv2.cvtColor(view.rgb, cv2.COLOR_RGB2GRAY)
    corners = cv2.goodFeaturesToTrack(grey, 400, 0.02, 5)
    if corners is None:
        return 0.0
    x, y = corners.reshape(-1, 2).astype(int).T
    solid = min(int(np.isfinite(view.depth[y, x]).sum()), ENOUGH)
    kinds = int((np.bincount(view.category.ravel()) >= LEAST_SHARE * view.category.size).sum())
    height, width = view.depth.shape
    middle = view.depth[height // 4 : -height // 4, width // 4 : -width // 4]
    typical = float(np.median(middle))
    fits = NEAREST_M <= typical <= FARTHEST_M and float(np.percentile(middle, 10)) >= NEAREST_M / 2
    return solid * kinds * (1.0 if fits else 0.1)


STARTS = 4
SIZE = 320, 180
HFOV_DEG = 90.0
CalibrationWatcher = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Plan:
    """What a calibration would request; `done` rollouts are stored from an earlier call."""

    model: str
    spec: str
    control: str
    space: str
    starts: tuple[str, ...]
    controls: tuple[str, ...]
    frames: int
    size: tuple[int, int]
    done: int = 0
    source: str = ""

    @property
    def answers(self) -> int:
        """Number of rollouts in all."""
        return len(self.starts) * len(self.controls)


@dataclass(frozen=True)
class CalibrationStudy:
    """A calibration and its sources; `refused` is why the model did not answer, by rollout."""

    plan: Plan
    axes: tuple[str, ...]
    keys: frozenset[str]
    seed: int
    responses: tuple[Response, ...]
    estimates: ControlEstimates
    refused: Mapping[str, str]

    @property
    def works(self) -> bool:
        """Whether any control was found to follow."""
        return any(one.status == "follows" for one in self.estimates.controls)

    def to_dict(self) -> dict[str, Any]:
        """The content of calibration.json, plain JSON values."""
        found = self.estimates
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": {
                "name": self.plan.model,
                "spec": self.plan.spec,
                "source": "" if self.plan.source.startswith(LIVE) else self.plan.source,
            },
            "control": self.plan.control,
            "space": {"name": self.plan.space, "axes": list(self.axes)},
            "delay": {**_facts(found.delay), "frames": found.frames, "reason": found.late},
            "speed": {"moving": _speed_facts(found.moving), "turning": _speed_facts(found.turning)},
            "controls": {one.control: _control_facts(one) for one in found.controls},
            "together": {
                name: {part: _facts(one) for part, one in parts.items()} for name, parts in found.together.items()
            },
            "drift": {component: _facts(one) for component, one in found.drift.items()},
            "made": {
                "seed": self.seed,
                "starts": list(self.plan.starts),
                "speeds": list(SPEEDS),
                "frames": self.plan.frames,
                "size": list(self.plan.size),
                "hfov_deg": HFOV_DEG,
                "path": SOURCE,
                "refused": dict(self.refused),
            },
        }


def calibrate(
    what: str | WorldModel,
    out: Path,
    *,
    space: str = DEFAULT_SPACE,
    starts: int = STARTS,
    seed: int = 0,
    progress: CalibrationWatcher = lambda done, total, doing: None,
) -> CalibrationStudy:
    """Calibrate a model with start images, and write calibration.json to `out`. `out` stores each rollout's path, so an
    interrupted calibration resumes. Intervals need two or more starts."""
    plan, model, controls, camera = _prepared(what, space, starts, seed, out)
    try:
        responses: list[Response] = []
        refused: dict[str, str] = {}
        for name, facts in start_names(starts, seed):
            start: Start | None = None
            for asked in controls:
                where = out / "answers" / name / f"{asked.name}.json"
                key = _key(plan, name, asked, seed)
                progress(len(responses), plan.answers, f"{name} {asked.control}")
                kept = None if plan.source.startswith(LIVE) else _kept(where, key)
                if kept is None:
                    start = find_start(name, facts, camera, seed) if start is None else start
                    kept = _answer(model, start, asked, seed)
                    write_file(where, dumps({"key": key, **kept}) + "\n")
                if kept["refused"]:
                    refused[f"{name}/{asked.name}"] = kept["refused"]
                shown = _matrices(kept["poses"])
                responses.append(
                    Response(name, asked.control, asked.speed, asked.motions, displacement(shown), kept["reason"])
                )
        progress(len(responses), plan.answers, "estimates")
    finally:
        if (served := find_served(model)) is not None and isinstance(what, str):
            served.close()
    if len(refused) == len(responses):
        raise ModelError(f"model '{plan.model}' answered nothing: {next(iter(refused.values()))}")
    used = controls[0].actions.space
    axes = tuple(axis.name for axis in used.axes) if plan.control == "actions" else ()
    keys = keys_of(used) if plan.control == "actions" else frozenset()
    study = CalibrationStudy(plan, axes, keys, seed, tuple(responses), estimate(responses), refused)
    write_file(out / NAME, dumps(study.to_dict(), indent=2) + "\n")
    return study


def plan_calibration(
    what: str | WorldModel, out: Path, *, space: str = DEFAULT_SPACE, starts: int = STARTS, seed: int = 0
) -> Plan:
    """What `calibrate` would request. The model is opened, but not run."""
    plan, model, _, _ = _prepared(what, space, starts, seed, out)
    if (served := find_served(model)) is not None and isinstance(what, str):
        served.close()
    return plan


def _prepared(
    what: str | WorldModel, space: str, starts: int, seed: int, out: Path
) -> tuple[Plan, WorldModel, list[ControlInput], Camera]:
    if starts < 1 or seed < 0:
        raise UsageError(f"{starts} start images with seed {seed}; give at least one, and a seed of 0 or more")
    resolved = resolve_model(what)
    model = cast("WorldModel", resolved.model)
    try:
        controls = controls_of(_checked_space(model, space), diagonals=model.spec.control != "text")
        width, height = model.spec.frame_size or SIZE
        plan = Plan(
            model.spec.name,
            digest_of_spec(model.spec),
            model.spec.control,
            space,
            tuple(name for name, _ in start_names(starts, seed)),
            tuple(asked.name for asked in controls),
            HORIZON,
            (width, height),
            source=_source_of(resolved, what),
        )
        if not resolved.source.startswith(LIVE):
            kept = (
                _kept(out / "answers" / start / f"{asked.name}.json", _key(plan, start, asked, seed))
                for start in plan.starts
                for asked in controls
            )
            plan = replace(plan, done=sum(one is not None for one in kept))
        return plan, model, controls, Camera.from_horizontal_fov(width, height, HFOV_DEG)
    except UsageError:
        if (served := find_served(model)) is not None and isinstance(what, str):
            served.close()
        raise


def _checked_space(model: WorldModel, space: str) -> ActionSpace:
    spec = model.spec
    if holds_videos(model) or not imagines(model):
        raise UsageError(f"model '{spec.name}' takes no controls; nothing to calibrate")
    if spec.view != "perspective":
        raise UsageError(f"model '{spec.name}' renders panoramas; a calibration needs perspective views")
    if "truth" in spec.inputs:
        raise UsageError(f"model '{spec.name}' plays the recorded future; nothing to calibrate")
    if "calibration" in spec.settings:
        raise UsageError(f"model '{spec.name}' has a calibration; calibrate it without one")
    return space_for(spec, space)


def _answer(model: WorldModel, start: Start, asked: ControlInput, seed: int) -> dict[str, Any]:
    """What is kept of one answer: the poses of its frames, and why some are missing."""
    request = question(model.spec, start, asked, seed)
    try:
        frames = np.concatenate(list(checked_rollout(model, request)))
    except NotApplicableError as error:
        return {"poses": [None] * HORIZON, "reason": str(error), "refused": str(error)}
    except ModelError as error:
        line = " ".join(str(error).split())
        return {"poses": [None] * HORIZON, "reason": line, "refused": line}
    track = poses_from_depth(start.image, start.depth, start.camera, frames)
    every = track.filled(HORIZON)
    rows = [None if np.isnan(pose).any() else np.round(pose[:3], 9).ravel().tolist() for pose in every]
    return {"poses": rows, "reason": track.reason, "refused": ""}


def question(spec: ModelSpec, start: Start, asked: ControlInput, seed: int) -> RolloutRequest:
    """What a model is asked: one start image, and a control."""
    fps = asked.actions.space.fps
    none = asked.actions[:0]
    # Words tell of the whole clip that a model makes of them, beyond the frames that are looked at too.
    rest = resting(asked.actions, (next_length(spec.lengths, 1 + HORIZON) or 1 + HORIZON) - 1 - HORIZON)
    told = Actions(asked.actions.space, np.concatenate([asked.actions.values, rest]))
    depth = (lambda index: start.depth) if "depth" in spec.inputs else None
    context = Context(Clip.from_array(start.image[None], fps), start.pose[None], none, start.camera, depth)
    return RolloutRequest(
        context,
        HORIZON,
        task_seed(seed, f"{start.name}/{asked.name}"),
        actions=asked.actions,
        poses=asked.poses(start.pose),
        text=describe(told),
        caption=caption_at(open_world(start.world), start.pose, start.camera),
        world=start.world if "world" in spec.inputs else None,
        task=f"calibrate/{start.name}/{asked.name}",
    )


def _source_of(resolved: ResolvedModel, what: str | WorldModel) -> str:
    """Where a model comes from, with its fingerprint; empty for a live object that states a digest in its spec."""
    if isinstance(what, str) or resolved.source.startswith(LIVE):
        return f"{resolved.source} {resolved.content}".strip()
    return ""


def _key(plan: Plan, start: str, asked: ControlInput, seed: int) -> str:
    """Digest of everything that an answer depends on."""
    return digest_of(dumps([plan.spec, plan.source, start, asked.name, asked.motions.tolist(), seed, list(plan.size)]))


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    """An answer of an earlier call; None where there is none, or one of another model or question."""
    if not path.is_file():
        return None
    try:
        content = parse_json(read_bytes(path, MAX_BYTES), str(path))
        fits = content["key"] == key and len(content["poses"]) == HORIZON
        _matrices(content["poses"])
        return {name: content[name] for name in ("poses", "reason", "refused")} if fits else None
    except (DataError, KeyError, TypeError, ValueError):
        return None


def _matrices(rows: Sequence[Sequence[float] | None]) -> FloatArray:
    poses = np.full((len(rows), 4, 4), np.nan)
    for t, row in enumerate(rows):
        if row is not None:
            poses[t] = np.eye(4)
            poses[t, :3] = np.asarray(row, np.float64).reshape(3, 4)
    return poses


def _facts(one: StartImageMean | None) -> dict[str, Any]:
    return {"mean": None, "low": None, "high": None, "n": 0} if one is None else asdict(one)


def _speed_facts(one: SpeedResult) -> dict[str, Any]:
    return {"whose": one.whose, "exponent": _facts(one.exponent)}


def _control_facts(one: ControlResult) -> dict[str, Any]:
    return {
        "status": one.status,
        "reason": one.reason,
        "asked": one.asked,
        "decoded": one.decoded,
        "gain": _facts(one.gain),
        "a_frame": one.a_frame,
        "unit": "rad" if one.control in TURNS else "m",
        "fit": one.fit,
        "by_speed": {f"{speed:g}": _facts(found) for speed, found in one.by_speed.items()},
        "beside": {component: _facts(found) for component, found in one.beside.items()},
    }
