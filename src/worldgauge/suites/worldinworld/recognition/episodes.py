"""Starts of active recognition: the target is seen badly, and well at the end of few of the ways around it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch, wrap_angle
from worldgauge.engine.options import option
from worldgauge.suites.worldinworld.format.contract import MOST_EPISODES, EpisodeFacts, Share
from worldgauge.suites.worldinworld.format.rows import as_stored
from worldgauge.suites.worldinworld.real_colours import seen_from
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.suites.worldinworld.recognition.format import (
    HIDDEN,
    RecognitionEpisode,
    RecognitionFormat,
    write_recognition,
)
from worldgauge.suites.worldinworld.recognition.recogniser import shipped_recogniser
from worldgauge.suites.worldinworld.sampling import HomeSampler, HomeSearch, HomeShare, by_number
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.camera import BoxScene, render
from worldgauge.worlds.indoor.homes import LABELS, SPLITS
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.walking.floor import Landmark, distance_from_box
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground, in_disc
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, TURN_DEG, Primitive, Stance, Steps, walked

VIEW = Camera.from_horizontal_fov(128, 128, 90.0)
"""Camera for judging starts: the field of view of the task, on a small grid."""
LARGE = 0.01
"""Share of the view at which an object is large enough to be recognised: a cushion at two metres."""
FRONTAL = 0.6
"""Share of the largest silhouette below which an angle is extreme: a picture at 53 degrees."""

ROUGH = VIEW.resized(48, 48)
"""For a first look at many stances."""
_ALONE_SHARE = 0.75
"""Pixels across a camera that is aimed at the object alone, of those of the view."""
_AROUND_M = 2.5
_HALF_ANGLES_DEG = (8.0, 16.0, 30.0, 50.0, 75.0)


class TargetVisibility(NamedTuple):
    """Shares in [0, 1]; `size` is the largest 8-connected piece's of the image, `near` that of pixels within 35 cm."""

    visible: float
    frontal: float
    size: float
    near: float

    @property
    def clarity(self) -> float:
        """All three in one number: 1 if the whole object is seen well, 0 if nothing is."""
        return self.shown * min(1.0, self.size / LARGE)

    @property
    def shown(self) -> float:
        """The clarity that an enlarged view would have."""
        return self.visible * min(1.0, self.frontal / FRONTAL)


class VisibilityMeter:
    """Measures the visibility of one object of a home or a scan."""

    def __init__(self, world: Home | Scan, instance: int, floor_m: float = 0.0) -> None:
        thing = next(one for one in world.landmarks if one.instance == instance)
        low, high = np.array(thing.low), np.array(thing.high)
        self._world, self._instance = world, instance
        self.centre: FloatArray = (low + high) / 2
        self._reach_m = float(np.linalg.norm(high - low)) / 2
        self._alone = _alone(world, instance)
        # Not the area of its box: an exercise bike fills a third of that.
        angles = np.arange(8) * np.pi / 4
        around = self.centre[:2] + (self._reach_m + _AROUND_M) * np.stack([np.cos(angles), np.sin(angles)], -1)
        px = round(_ALONE_SHARE * VIEW.width)
        seen = (self._whole(Stance(x, y, 0.0, floor_m), px) for x, y in around.tolist())
        self._largest_m2 = max(whole * distance_m**2 for whole, distance_m in seen)

    def see(self, stance: Stance, grid: Camera = VIEW) -> TargetVisibility:
        """Measure from the eye at `stance`, level, 90 degrees wide; `ROUGH` is 4 times faster, mostly within 0.1."""
        view = self._world.view(stance.eye(), grid)
        mask = view.instance == self._instance
        near = float((view.depth < 0.35).mean())
        if not mask.any():
            return TargetVisibility(0.0, 0.0, 0.0, near)
        whole, distance_m = self._whole(stance, round(_ALONE_SHARE * grid.width))
        seen = float(_solid_angles(grid)[mask].sum())
        import cv2

        _, _, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
        return TargetVisibility(
            visible=min(1.0, seen / whole) if whole > 0 else 0.0,
            frontal=min(1.0, whole * distance_m**2 / self._largest_m2) if self._largest_m2 > 0 else 0.0,
            size=int(stats[1:, cv2.CC_STAT_AREA].max()) / mask.size,
            near=near,
        )

    def bearing(self, xy: FloatArray) -> float:
        """Return the yaw in radians that faces the object's centre from (2,) metres."""
        return math.atan2(self.centre[1] - xy[1], self.centre[0] - xy[0])

    def _whole(self, stance: Stance, px: int) -> tuple[float, float]:
        """Return the solid angle of the whole object without occlusion or border, and metres to its centre."""
        eye = np.array([stance.x, stance.y, EYE_HEIGHT_M + stance.z])
        way = self.centre - eye
        distance_m = float(np.linalg.norm(way))
        half = math.degrees(math.asin(min(1.0, self._reach_m / max(distance_m, 1e-6))))
        camera = _aimed(next((angle for angle in _HALF_ANGLES_DEG if angle >= half), _HALF_ANGLES_DEG[-1]), px)
        pose = pose_from_yaw_pitch(eye, math.atan2(way[1], way[0]), math.asin(way[2] / max(distance_m, 1e-6)))
        mask = self._alone(pose, camera)
        return float(_solid_angles(camera)[mask].sum()), distance_m


def _alone(world: Home | Scan, instance: int) -> Callable[[FloatArray, Camera], NDArray[np.bool_]]:
    """What tells the pixels that meet an object, were nothing else there."""
    if isinstance(world, Home):
        boxes = BoxScene.of(world.plan.boxes.kept(world.plan.boxes.instance == instance))
        return lambda pose, camera: render(boxes, pose, camera).instance == instance
    from worldgauge.worlds.scan.camera import meets

    return partial(meets, world.part(instance))


@lru_cache(maxsize=2 * len(_HALF_ANGLES_DEG))
def _aimed(half_deg: float, px: int) -> Camera:
    """Return one of few cameras, as the ray caster caches their rays."""
    return Camera.from_horizontal_fov(px, px, 2 * half_deg)


@lru_cache(maxsize=2 * len(_HALF_ANGLES_DEG) + 2)
def _solid_angles(camera: Camera) -> FloatArray:
    """Return steradians (H, W) of every pixel."""
    rays = camera.rays()
    angles: FloatArray = (rays[..., 2] / np.linalg.norm(rays, axis=-1)) ** 3 / (camera.fx * camera.fy)
    return angles


CLARITY = {1: ((0.10, 0.15), (0.06, 0.10), (0.03, 0.06)), HIDDEN: ((0.14, 0.24), (0.07, 0.14), (0.03, 0.07))}
"""Clarity of the target at the start, lower bound included, by design and by difficulty 0, 1, 2.

Of design `HIDDEN` it is what an enlarged view would have, `TargetVisibility.shown`.
"""
DIFFICULTIES = 3
POOR = 0.25
"""Clarity below which a view is poor, as those at starts are: so many of the ways end that `POOR_SHARE` says."""
POOR_SHARE = 0.5
"""Least share of the ways around the target that end in a poor view: where most end well, nothing need be foreseen."""
CLEAR = 0.70
"""Clarity of a good view: what was hidden is in the open."""
LEAST_SIZE = 0.0015
"""Least share of the view that the target's largest piece covers: its red box can be drawn at 128 pixels."""
MOST_STEPS = {1: 8, HIDDEN: 14}
"""Most primitives to a good view, by design: the length of a plan."""
NEAR_SHARE = 1 / 3
"""Share of the ways, those that end nearest, of which as many end poorly: of design `HIDDEN`."""
WAY_M = (0.5, 4.5)
"""Least straight distance from the target's box, and most walking distance."""

_TRIES = 80
_SEARCHES = 12
_VIEWS = {1: 16, HIDDEN: 24}
_OFF_RAD = math.radians(30)
"""Most that a start looks past the target: what the border hides, a turn would show."""
_LEAST_CLEAR = 2
_AROUND = Panorama(64, 32)
_MOST_POINTS = 8
_ROOM_M = 0.2
_MOST_NEAR = 0.3
_ROUGHLY = 1.5
"""How much more than its bound a rough clarity may be to be looked at again."""


class Wish(NamedTuple):
    """The wanted category and difficulty of an episode, as far as the home allows."""

    category: str
    difficulty: int


@dataclass(frozen=True)
class RecognitionStart:
    """One episode of active recognition."""

    target: int
    category: str
    difficulty: int
    start: Stance
    sight: TargetVisibility
    steps: Steps
    good: TargetVisibility
    discards: tuple[str, ...] = ()


def recognitions(
    targets: Targets, rng: np.random.Generator, wishes: Iterable[Wish], failed: Counter[str] | None = None
) -> Iterator[RecognitionStart]:
    """Yield an episode per wish, with other targets while there are some; labels are strict, difficulty is not."""
    search = _Search(targets, rng)
    for wish in wishes:
        if wish.category not in LABELS:
            raise UnknownNameError("label", wish.category, LABELS)
        start = search.find(wish)
        if isinstance(start, list):
            if failed is not None:
                failed.update(start or ["none of the things has a label that the recogniser knows"])
            return
        yield start


def start_clarity(sight: TargetVisibility, design: int) -> float:
    """What `CLARITY` bounds."""
    return sight.shown if design == HIDDEN else sight.clarity


def difficulty_of(sight: TargetVisibility, design: int) -> int | None:
    """Return 0, 1 or 2; None if the target is seen too well or too little."""
    clarity = start_clarity(sight, design)
    return next((level for level, (low, high) in enumerate(CLARITY[design]) if low <= clarity < high), None)


def is_named(world: Home | Scan, target: Landmark, start: Stance) -> bool:
    """Whether the recogniser names a thing from a start."""
    view = world.view(start.eye(), VIEW)
    box = target_box(view.instance == target.instance)
    shares = None if box is None else shipped_recogniser().probabilities(view.rgb, box)
    return shares is not None and LABELS[int(np.argmax(shares))] == target.category


class HomeTargets:
    """Things of a home, viewed from the cells of its floor."""

    def __init__(self, home: Home, geodesic: Geodesic, design: int = HIDDEN) -> None:
        self.things: Sequence[Landmark] = home.landmarks
        self.world, self.design = home, design
        self._geodesic = geodesic
        self._places: dict[int, FloatArray] = {}

    def meter(self, target: Landmark) -> VisibilityMeter:
        """What measures how well a thing is seen."""
        return VisibilityMeter(self.world, target.instance)

    def around(self, target: Landmark, rng: np.random.Generator) -> FloatArray:
        """Centres (N, 3) of cells within `WAY_M` of a thing; of design `HIDDEN`, where little of it is in sight."""
        if target.instance not in self._places:
            self._places[target.instance] = self._found_around(target)
        return self._places[target.instance]

    def _found_around(self, target: Landmark) -> FloatArray:
        floor = self.world.floor
        metres = self._geodesic.field(self._geodesic.nearest(target.centre[:2]))
        points = floor.points_of(np.argwhere((metres <= WAY_M[1]) & (floor.clearance_m >= _ROOM_M)))
        points = points[distance_from_box(target, points) >= WAY_M[0]]
        if self.design == HIDDEN:
            seen = self._points_seen(target, np.column_stack([points, np.full(len(points), EYE_HEIGHT_M)]))
            points = points[(seen > 0) & (seen <= _MOST_POINTS)]
        return np.column_stack([points, np.zeros(len(points))])

    def _points_seen(self, target: Landmark, eyes: FloatArray) -> NDArray[np.int64]:
        """How many of 27 points of a thing's box are in sight from each eye (N, 3), were the thing not there."""
        boxes = self.world.plan.boxes
        scene = BoxScene.of(boxes.kept(boxes.instance != target.instance))
        seen = np.zeros(len(eyes), np.int64)
        for shares in np.ndindex(3, 3, 3):
            point = target.low + (np.array(shares) + 0.5) / 3 * np.subtract(target.high, target.low)
            ways = seen_from(pose := pose_from_yaw_pitch(point, 0.0, 0.0), eyes)
            columns, rows = _AROUND.project(ways)[0].astype(np.int64).T
            depth = render(scene, pose, _AROUND).depth
            seen += depth[rows.clip(0, _AROUND.height - 1), columns % _AROUND.width] > np.linalg.norm(ways, axis=1)
        return seen

    def at(self, place: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A place (3,) to stand, anywhere in the cell."""
        half = 0.49 * self.world.floor.cell_m
        return np.append(place[:2] + rng.uniform(-half, half, 2), place[2])

    def step(self, stance: Stance, primitive: Primitive) -> tuple[Stance, bool]:
        """See `stance.walked`."""
        return walked(self.world.floor, stance, primitive)


class ScanTargets:
    """Things of a scan, viewed from the ground of their storey."""

    design = 1

    def __init__(self, scan: Scan, ground: Ground) -> None:
        self.things: Sequence[Landmark] = scan.landmarks
        self.world, self._ground = scan, ground

    def meter(self, target: Landmark) -> VisibilityMeter:
        """What measures how well a thing is seen."""
        foot = self._foot(target)
        return VisibilityMeter(self.world, target.instance, 0.0 if foot is None else float(foot[2]))

    def around(self, target: Landmark, rng: np.random.Generator) -> FloatArray:
        """Places (N, 3) of a disc that are within `WAY_M` of a thing."""
        foot, found = self._foot(target), list[FloatArray]()
        if foot is not None:
            for x, y in in_disc(target.centre[:2], WAY_M[1], rng).tolist():
                if distance_from_box(target, np.array([x, y])) < WAY_M[0] or not self._ground.stands([x, y, foot[2]]):
                    continue
                place = self._ground.nearest([x, y, foot[2]])
                if self._ground.distance(place, foot) <= WAY_M[1]:
                    found.append(place)
        return np.array(found).reshape(-1, 3)

    def at(self, place: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The place itself."""
        return place

    def step(self, stance: Stance, primitive: Primitive) -> tuple[Stance, bool]:
        """See `Ground.step`."""
        return self._ground.step(stance, primitive)

    def _foot(self, target: Landmark) -> FloatArray | None:
        """The place on the ground nearest to a thing; None where none is near."""
        try:
            return self._ground.nearest([*target.centre[:2], target.low[2]])
        except WorldError:
            return None


Targets = HomeTargets | ScanTargets


class _Search:
    """The search in one place; a target is not taken twice while there are others."""

    def __init__(self, targets: Targets, rng: np.random.Generator) -> None:
        self.targets, self.rng = targets, rng
        self.taken: set[int] = set()
        self.of: dict[str, list[int]] = {label: [] for label in LABELS}
        self.things = {thing.instance: thing for thing in targets.things}
        for thing in targets.things:
            if thing.category in self.of:
                self.of[thing.category].append(thing.instance)

    def find(self, wish: Wish) -> RecognitionStart | list[str]:
        """Find what is wished, or the next best; if no object of any label is usable, why."""
        others = [LABELS[k] for k in self.rng.permutation(len(LABELS)) if LABELS[k] != wish.category]
        discards: list[str] = []
        for again in (False, True):
            for label in (wish.category, *others):
                free = [one for one in self.of[label] if again or one not in self.taken]
                found = self._of_label(free, wish.difficulty, discards) if free else None
                if found is not None:
                    self.taken.add(found.target)
                    return found
        return discards

    def _of_label(self, targets: Sequence[int], difficulty: int, discards: list[str]) -> RecognitionStart | None:
        """Return a start for one of `targets` with this difficulty, else with another."""
        second: RecognitionStart | None = None
        lookers: dict[int, tuple[VisibilityMeter, FloatArray]] = {}
        searches, design = 0, self.targets.design
        for _ in range(_TRIES):
            target = targets[int(self.rng.integers(len(targets)))]
            if target not in lookers:
                thing = self.things[target]
                lookers[target] = self.targets.meter(thing), self.targets.around(thing, self.rng)
            looker, places = lookers[target]
            if not len(places):
                discards.append("no room for a start around the target")
                continue
            x, y, z = self.targets.at(places[int(self.rng.integers(len(places)))], self.rng)
            yaw = looker.bearing(np.array([x, y])) + self.rng.uniform(-_OFF_RAD, _OFF_RAD)
            # Rounded to micrometres, which files keep in full: readers of the files render the same pixels.
            start = Stance(round(float(x), 6), round(float(y), 6), round(float(wrap_angle(yaw)), 6), round(float(z), 6))
            glimpse = looker.see(start, ROUGH)
            if not glimpse.visible:
                discards.append("target not in view")
                continue
            if start_clarity(glimpse, design) > _ROUGHLY * CLARITY[design][0][1]:
                discards.append(self._why(glimpse))
                continue
            sight = looker.see(start)
            level = difficulty_of(sight, design)
            if level is None or sight.size < LEAST_SIZE or sight.near > _MOST_NEAR:
                discards.append(self._why(sight))
                continue
            if level != difficulty and second is not None:
                continue
            if design == HIDDEN and is_named(self.targets.world, self.things[target], start):
                discards.append("the recogniser names the target from the start")
                continue
            searches += 1
            good = self._good_view(looker, start, sight)
            if good is None:
                discards.append("no good view within reach")
                if searches < _SEARCHES:
                    continue
                break
            category = self.things[target].category
            one = RecognitionStart(target, category, level, start, sight, *good, tuple(discards))
            if level == difficulty:
                return one
            second = one
        return None if second is None else replace(second, discards=tuple(discards))

    def _good_view(
        self, looker: VisibilityMeter, start: Stance, sight: TargetVisibility
    ) -> tuple[Steps, TargetVisibility] | None:
        """Return the shortest of some tried ways to a stance that sees the target well; None where most ways do."""
        found = list(ways(self.targets, start, looker))
        design = self.targets.design
        tried = [found[k] for k in self.rng.permutation(len(found))[: _VIEWS[design]]]
        near = 0
        if design == HIDDEN:
            tried.sort(key=lambda way: float(np.linalg.norm(looker.centre[:2] - way[1][:2])))
            near = round(NEAR_SHARE * len(tried))
        clear: list[tuple[Steps, Stance]] = []
        better = 0
        for number, (steps, stance) in enumerate(tried):
            clarity = looker.see(stance, ROUGH).clarity
            better += clarity >= POOR
            if clarity >= CLEAR:
                clear.append((steps, stance))
            if better > (1 - POOR_SHARE) * (near if number < near else len(tried)):
                return None
        if len(clear) < _LEAST_CLEAR:
            return None
        for steps, stance in sorted(clear, key=lambda way: len(way[0])):
            good = looker.see(stance)
            if good.clarity >= CLEAR and good.size >= sight.size:
                return steps, good
        return None

    def _why(self, sight: TargetVisibility) -> str:
        if sight.near > _MOST_NEAR:
            return "something covers the lens"
        design = self.targets.design
        return "target seen too " + ("well" if start_clarity(sight, design) >= CLARITY[design][0][1] else "little")


def ways(targets: Targets, start: Stance, looker: VisibilityMeter) -> Iterator[tuple[Steps, Stance]]:
    """Yield primitives of up to one straight leg that end facing the target, and their end; one per 20 cm."""
    seen: set[tuple[int, int]] = set()
    for steps, stance in [((), start), *_legs(targets, start)]:
        place = round(stance.x / 0.2), round(stance.y / 0.2)
        off = wrap_angle(looker.bearing(np.array(stance[:2])) - stance.yaw)
        facing = _turns(round(math.degrees(float(off)) / TURN_DEG))
        if place not in seen and 0 < len(steps) + len(facing) <= MOST_STEPS[targets.design]:
            seen.add(place)
            yield (*steps, *facing), _after(targets, stance, facing)


def _legs(targets: Targets, start: Stance) -> Iterator[tuple[Steps, Stance]]:
    """Yield all turns that are followed by at least one free step forward."""
    for count in range(-6, 7):
        taken = _turns(count)
        there = _after(targets, start, taken)
        while len(taken) < MOST_STEPS[targets.design]:
            there, met = targets.step(there, Primitive.FORWARD)
            if met:
                break
            taken = (*taken, Primitive.FORWARD)
            yield taken, there


def _turns(count: int) -> Steps:
    """Return so many turns to the left, or to the right if negative."""
    return (Primitive.TURN_LEFT if count > 0 else Primitive.TURN_RIGHT,) * abs(count)


def _after(targets: Targets, stance: Stance, steps: Steps) -> Stance:
    for step in steps:
        stance, _ = targets.step(stance, step)
    return stance


@dataclass(frozen=True)
class RecognitionOptions:
    """Options of a collection."""

    recognition: int = option(
        RecognitionFormat.published, "Episodes of recognition: what is in the red box?", low=0, high=MOST_EPISODES
    )


class RecognitionSampler(HomeSampler):
    """Collects them; ids are plain numbers, as their published files must have."""

    kind, Options, id_form, in_scans = "recognition", RecognitionOptions, "{}", True

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """Targets that are badly seen, with starts from where they would soon be seen well."""
        rng = search.share.rng(self.kind)
        world = search.world
        targets: Targets = (
            ScanTargets(world, search.ground) if isinstance(world, Scan) else HomeTargets(search.home, search.geodesic)
        )
        for one in recognitions(targets, rng, wishes(search.share), search.discards):
            search.discards.update(one.discards)
            yield {
                "difficulty": one.difficulty,
                "target": one.target,
                "category": one.category,
                "start": as_stored(one.start).plain,
                "sight": one.sight._asdict(),
                "steps": [int(step) for step in one.steps],
                "good": one.good._asdict(),
                "design": targets.design,
            }

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_recognition`."""
        episodes = []
        for share, facts in by_number(found):
            difficulty, target, category = facts["difficulty"], facts["target"], facts["category"]
            start = Stance(*facts["start"])
            own = RecognitionEpisode(self.id_of(facts), share.scene, difficulty, target, category, start)
            episodes.append(replace(own, design=facts.get("design", 1)))
        write_recognition(out, episodes)


def wishes(share: HomeShare) -> Iterator[Wish]:
    """Labels and difficulties of a home's episodes: all labels once in every 27 episodes."""
    for turn, number in enumerate(share.numbers(RecognitionSampler.kind)):
        round_, at = divmod(number, len(LABELS))
        order = np.random.default_rng([share.seed, SPLITS.index(share.split), round_]).permutation(len(LABELS))
        # The turn is added so that a home has all difficulties, whatever the number of homes.
        yield Wish(LABELS[int(order[at])], (number + turn) % DIFFICULTIES)
