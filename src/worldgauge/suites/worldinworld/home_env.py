"""A home with a walker in it: what the agent senses, where its steps lead, and what a plan is really worth."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Box, Image
from worldgauge.core.video import Clip
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    Depth,
    HomeObservation,
    PlannedRoom,
    Side,
    letters,
)
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.worlds import View, World
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.indoor.homes import HomeObject
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import SAMPLES as PLACES
from worldgauge.worlds.walking.ground import Ground, ReachablePlaces, ground_of
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, NAV_STEPS, RADIUS_M, TURN_DEG, Primitive, Stance, Steps

_SMALL = Panorama(256, 128)
"""For testing whether something is in view at all."""
_VIEWS = 24
"""Most cached views: those of one decision; 2 MB each at 384x384."""
MIN_SHARE = 0.0005
"""Least share of a view that a visible target covers: 25 pixels of 224x224."""


_STOREY_M = 0.5
"""How far the floor under a walker may lie below the things of its storey."""


class HomeSight:
    """What is sensed from one stance (`HomeObservation`); rendered once, on first use."""

    def __init__(self, simulator: HomeTaskEnv, stance: Stance) -> None:
        self.stance = stance
        self.camera = simulator.camera
        self.pose: FloatArray = simulator.pose(stance)
        self._simulator = simulator
        self._views: dict[Side, View] = {}

    @property
    def front(self) -> Image:
        """The front view, (H, W, 3) uint8."""
        return self._seen("front").rgb

    @property
    def panorama(self) -> Image:
        """The panorama, (H, W, 3) uint8."""
        return self._around.rgb

    @property
    def panorama_depth(self) -> Depth:
        """Depth of the panorama, (H, W) metres along the ray."""
        return self._around.depth

    @property
    def caption(self) -> str | None:
        """What the front view shows, in a sentence."""
        return caption_at(self._simulator.world, self.pose, self.camera)

    def view(self, side: Side) -> Image:
        """Return the view to one side, (H, W, 3) uint8."""
        return self._seen(side).rgb

    def depth(self, side: Side) -> Depth:
        """Return the depth of the view to one side, (H, W) metres along the axis."""
        return self._seen(side).depth

    def instances(self, side: Side) -> NDArray[np.uint16]:
        """Return exact object numbers of the view to one side, (H, W)."""
        return self._seen(side).instance

    @cached_property
    def box(self) -> Box | None:
        """The target's box in the front view; None without a target, or if too little of it is visible."""
        target = self._simulator.target
        if target is None:
            return None
        mask = self.instances("front") == target
        return target_box(mask) if mask.mean() >= MIN_SHARE else None

    @property
    def things(self) -> Mapping[int, Any]:
        """Facts of all objects, by object number."""
        return self._simulator.things

    @property
    def rooms(self) -> Sequence[PlannedRoom]:
        """All rooms, without their names."""
        return self._simulator.rooms

    def places_near(self, radius_m: float, rng: np.random.Generator) -> ReachablePlaces:
        """Return random places within so many metres, and the length of the way to each."""
        return self._simulator.ground.places_near(self.stance, self.stance.at, radius_m, PLACES, rng)

    def way_to(self, xy: FloatArray, within_m: float) -> Steps | None:
        """Return steps along the shortest way from here to within so many metres of a place (2,); None without one."""
        ground = self._simulator.ground
        return ground.steps_to(self.stance, ground.nearest([*xy, self.stance.z]), within_m)

    @cached_property
    def _around(self) -> View:
        return self._simulator.view(self.stance, self._simulator.panorama)

    def _seen(self, side: Side) -> View:
        if side not in self._views:
            turned = self.stance.turned(-np.radians(YAW_RIGHT_DEG[side]))
            self._views[side] = self._simulator.view(turned, self.camera)
        return self._views[side]


class HomeTaskEnv:
    """A walker in an embedded world; `target` is the object of recognition, and `sliding` None the world's own rule."""

    text_renderer = "nav/v2"

    def __init__(
        self,
        world: Walkable,
        start: Stance,
        *,
        camera: Camera,
        panorama: Panorama,
        height_m: float = EYE_HEIGHT_M,
        target: int | None = None,
        sliding: bool | None = None,
    ) -> None:
        self.world: World = world
        self._walkable, self._sliding = world, sliding
        self.stance = self._start = start
        self.camera = camera
        self.panorama = panorama
        self.height_m = height_m
        self.target = target
        self._views: OrderedDict[tuple[Stance, Camera | Panorama], View] = OrderedDict()
        self.things: Mapping[int, HomeObject] = {thing.instance: thing for thing in things_of(world)}
        self.rooms: Sequence[PlannedRoom] = rooms_of(world, start)

    @cached_property
    def ground(self) -> Ground:
        """What the walker stands on."""
        return ground_of(self._walkable, self._sliding)

    @property
    def position_m(self) -> tuple[float, ...]:
        """Position of the walker, x and y, metres."""
        return tuple(self.stance[:2])

    def reset(self) -> HomeSight:
        """Put the walker back to the start."""
        self.stance = self._start
        return self.observe()

    def observe(self) -> HomeSight:
        """Return what is sensed now."""
        return HomeSight(self, self.stance)

    def sight(self, stance: Stance) -> HomeSight:
        """Return what would be sensed from `stance`."""
        return HomeSight(self, stance)

    def turn(self, left_rad: float) -> None:
        """Turn on the spot."""
        self.stance = self.stance.turned(left_rad)

    def step(self, primitive: Primitive) -> bool:
        """Take one step."""
        self.stance, collided = self.ground.step(self.stance, primitive)
        return collided

    def views_of_step(self) -> list[Image]:
        """Return the view after the step."""
        return [self.observe().front]

    def info(self, observation: HomeSight, actions: int, view_steps: Sequence[int]) -> dict[str, Any]:
        """Return the facts of a decision for the trace: the stance. See `TableEnv.info` for the other arguments."""
        return {"stance": observation.stance.plain}

    def plain_actions(self, actions: Sequence[Primitive]) -> str:
        """Return steps as letters."""
        return letters(tuple(actions))

    def plain_plan(self, plan: ActionPlan) -> str:
        """Return steps as letters."""
        return letters(plan.steps)

    def pose(self, stance: Stance) -> FloatArray:
        """Return the camera-to-world pose (4, 4) of the eye at `stance`."""
        return stance.eye(self.height_m)

    def view(self, stance: Stance, camera: Camera | Panorama) -> View:
        """Render what `camera` sees from `stance`; recent views are cached, as an oracle's are soon seen again."""
        key = (stance, camera)
        if key in self._views:
            self._views.move_to_end(key)
        else:
            self._views[key] = self.world.view(self.pose(stance), camera)
            if len(self._views) > _VIEWS:
                self._views.popitem(last=False)
        return self._views[key]

    def replayed(self, start: Stance, steps: Iterable[Primitive]) -> list[Stance]:
        """Return the stances after each of `steps`, collisions included, from `start`; the walker does not move."""
        stances = []
        for step in steps:
            start, _ = self.ground.step(start, step)
            stances.append(start)
        return stances

    def led_to(self, turn_left_rad: float, steps: Sequence[Primitive]) -> Stance:
        """Return the stance after a turn from here and then `steps`, collisions included; the walker does not move."""
        start = self.stance.turned(turn_left_rad)
        return self.replayed(start, steps)[-1] if steps else start

    def film(self, stances: Sequence[Stance], camera: Camera | Panorama) -> Clip:
        """Return what `camera` sees from each of `stances`; frames are rendered when they are read."""
        size = camera.width, camera.height
        return Clip.rendered(lambda index: self.view(stances[index], camera).rgb, len(stances), NAV_STEPS.fps, size)

    def target_around(self) -> bool:
        """Whether the target is in view in any direction."""
        return bool((self.world.view(self.pose(self.stance), _SMALL).instance == self.target).any())


def things_of(world: Walkable) -> Sequence[HomeObject]:
    """Objects of a home; of a scan what is named, without the colour, the room and the state that no scan tells."""
    own = getattr(world, "objects", None)
    if own:
        return list(own)
    return [HomeObject(one.instance, one.category, one.category, "", "", one.low, one.high) for one in world.landmarks]


def rooms_of(world: Walkable, at: Stance) -> list[PlannedRoom]:
    """Rooms of a home, or those of a scan on the storey of a stance; none where no plan tells them."""
    plan = getattr(world, "plan", None)
    if plan is not None:
        return [PlannedRoom(room.low, room.high) for room in plan.rooms]
    own = [room for room in getattr(world, "rooms", ()) if room.low[2] - _STOREY_M <= at.z <= room.high[2]]
    return [PlannedRoom(room.low[:2], room.high[:2]) for room in own]


DIRECTIONS = round(360 / TURN_DEG)
SAMPLES = 48
"""Rows and columns of each view whose depth is looked at."""
_MARGIN_M = 0.04
"""Room on each side of the walker, for what lies between two samples."""
_ROUNDING_M = 0.005
_KERB_M = 0.08
"""What is lower is floor: the error of a depth far away is not to become an obstacle."""
_OVERHEAD_M = 0.3
"""What is higher above the eye is over the walker's head."""


def free_m(observation: HomeObservation) -> FloatArray:
    """Free metres ahead in 16 directions, k turns to the left, by the depth of four views; infinite if unseen."""
    points = np.concatenate([_obstacles(observation, side) for side in SIDES])
    angles = np.radians(TURN_DEG) * np.arange(DIRECTIONS)[:, None]
    along = points[:, 0] * np.cos(angles) + points[:, 1] * np.sin(angles)
    across = points[:, 1] * np.cos(angles) - points[:, 0] * np.sin(angles)
    # One that stands close to a wall may go along it.
    room = np.clip(np.hypot(*points.T).min(initial=np.inf), RADIUS_M, RADIUS_M + _MARGIN_M)
    met = (along > 0) & (np.abs(across) < room - _ROUNDING_M)
    nearest: FloatArray = np.where(met, along, np.inf).min(axis=1, initial=np.inf)
    return np.maximum(nearest - RADIUS_M, 0.0)


def spread(ends: FloatArray, n: int, rng: np.random.Generator) -> list[int]:
    """Choose among `ends` (k, d): the first by chance, each further one farthest from those before it."""
    chosen = [int(rng.integers(len(ends)))]
    away = np.full(len(ends), np.inf)
    while len(chosen) < min(n, len(ends)):
        away = np.minimum(away, np.linalg.norm(ends - ends[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(np.round(away, 9))))
    return chosen


def _obstacles(observation: HomeObservation, side: Side) -> FloatArray:
    """Return (n, 2) metres ahead and to the left of the walker: what one view shows at the walker's height."""
    depth = observation.depth(side)
    stride = max(1, round(len(depth) / SAMPLES))
    rays = observation.camera.rays()[::stride, ::stride]
    points = (rays * depth[::stride, ::stride, None])[np.isfinite(depth[::stride, ::stride])]
    right, _, ahead = points[(points[:, 1] < EYE_HEIGHT_M - _KERB_M) & (points[:, 1] > -_OVERHEAD_M)].T
    yaw = -math.radians(YAW_RIGHT_DEG[side])
    return np.stack(
        [ahead * math.cos(yaw) + right * math.sin(yaw), ahead * math.sin(yaw) - right * math.cos(yaw)], axis=1
    )
