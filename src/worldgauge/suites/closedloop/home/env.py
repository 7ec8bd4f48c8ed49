"""A home with a walker in it: what the agent senses, where its steps lead, and what a plan is really worth."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Box, Image
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.policies.contract import (
    YAW_RIGHT_DEG,
    ActionPlan,
    Depth,
    PlannedRoom,
    Side,
    letters,
)
from worldgauge.suites.closedloop.recognition.boxes import target_box
from worldgauge.worlds import View, World
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive, Steps
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance, walked

_SMALL = Panorama(256, 128)
"""For testing whether something is in view at all."""
_VIEWS = 24
"""Most cached views: those of one decision; 2 MB each at 384x384."""
MIN_SHARE = 0.0005
"""Least share of a view that a visible target covers: 25 pixels of 224x224."""


class HomeSight:
    """What is sensed from one stance (`HomeObservation`); rendered once, on first use."""

    def __init__(self, simulator: HomeEnv, stance: Stance) -> None:
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

    def way_to(self, xy: FloatArray, within_m: float) -> Steps | None:
        """Return steps along the shortest way from here to within so many metres of a place (2,); None without one."""
        geodesic = self._simulator.geodesic
        return geodesic.steps_to(self.stance, geodesic.nearest(xy), within_m)

    @cached_property
    def _around(self) -> View:
        return self._simulator.view(self.stance, self._simulator.panorama)

    def _seen(self, side: Side) -> View:
        if side not in self._views:
            turned = self.stance.turned(-np.radians(YAW_RIGHT_DEG[side]))
            self._views[side] = self._simulator.view(turned, self.camera)
        return self._views[side]


class HomeEnv:
    """A walker in an embedded world. target: the object that recognition is about, None elsewhere."""

    text_renderer = "nav/v1"

    def __init__(
        self,
        world: Walkable,
        start: Stance,
        *,
        camera: Camera,
        panorama: Panorama,
        height_m: float = EYE_HEIGHT_M,
        target: int | None = None,
    ) -> None:
        self.world: World = world
        self.floor: FloorPlan = world.floor
        self.stance = self._start = start
        self.camera = camera
        self.panorama = panorama
        self.height_m = height_m
        self.target = target
        self._views: OrderedDict[tuple[Stance, Camera | Panorama], View] = OrderedDict()
        self.things: Mapping[int, Any] = {thing.instance: thing for thing in getattr(world, "objects", ())}
        planned = getattr(getattr(world, "plan", None), "rooms", ())
        self.rooms: Sequence[PlannedRoom] = [PlannedRoom(room.low, room.high) for room in planned]

    @cached_property
    def geodesic(self) -> Geodesic:
        """Distances on the floor."""
        return _geodesic(self.floor)

    @property
    def position_m(self) -> tuple[float, ...]:
        """Position of the walker, x and y, metres."""
        return tuple(self.stance[:2])

    def reset(self) -> HomeSight:
        """Put the walker back to the start.

        Returns:
            What is sensed there.
        """
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
        """Take one step.

        Returns:
            Whether it collided.
        """
        self.stance, collided = walked(self.floor, self.stance, primitive)
        return collided

    def views_of_step(self) -> list[Image]:
        """Return the view after the step."""
        return [self.observe().front]

    def info(self, observation: HomeSight, actions: int, view_steps: Sequence[int]) -> dict[str, Any]:
        """Return the facts of a decision for the trace: the stance. See `TableEnv.info` for the other arguments."""
        return {"stance": list(observation.stance)}

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
            start, _ = walked(self.floor, start, step)
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


_GEODESICS: dict[int, tuple[FloorPlan, Geodesic]] = {}


def _geodesic(floor: FloorPlan) -> Geodesic:
    """Return distances on a floor; those of the last floor are cached, as episodes of one scene follow each other."""
    held = _GEODESICS.get(id(floor))
    if held is None or held[0] is not floor:
        _GEODESICS.clear()
        _GEODESICS[id(floor)] = held = (floor, Geodesic(floor))
    return held[1]
