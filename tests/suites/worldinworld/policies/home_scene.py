"""A home seen by an agent, for tests of policies: real pictures, depth and masks, and what truly follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Box, Image
from worldgauge.suites.worldinworld.policies.contract import YAW_RIGHT_DEG, ActionPlan, Candidate, Depth, Rollout, Side
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked

CAMERA = Camera.from_horizontal_fov(128, 128, 90)
PANORAMA = Panorama(256, 144)
F, L, R, S = Primitive


@cache
def home() -> Home:
    """The same home for all tests of a process: it takes a second to build."""
    return Home(3)


@cache
def stance() -> Stance:
    """Somewhere in it, with a wide view."""
    rng, geodesic = np.random.default_rng(0), Geodesic(home().floor)
    stances = [Stance(*map(float, geodesic.random_point(rng)), float(rng.uniform(-3, 3))) for _ in range(20)]
    return max(stances, key=lambda one: float(np.median(home().view(one.eye(), CAMERA.resized(16, 16)).depth)))


class Seen:
    """What is sensed from a stance (`agents.contract.Observation`). target: number of the object in the red box."""

    def __init__(self, here: Stance | None = None, target: int | None = None, camera: Camera = CAMERA) -> None:
        self.stance = here or stance()
        self.camera = camera
        self.pose: FloatArray = self.stance.eye()
        self.target = target
        self._around = home().view(self.pose, PANORAMA)
        turned = {side: self.stance.turned(-np.radians(right)).eye() for side, right in YAW_RIGHT_DEG.items()}
        self._views = {side: home().view(pose, camera) for side, pose in turned.items()}

    @property
    def front(self) -> Image:
        return self._views["front"].rgb

    @property
    def panorama(self) -> Image:
        return self._around.rgb

    @property
    def panorama_depth(self) -> Depth:
        return self._around.depth

    def view(self, side: Side) -> Image:
        return self._views[side].rgb

    def depth(self, side: Side) -> Depth:
        return self._views[side].depth

    def instances(self, side: Side) -> Any:
        return self._views[side].instance

    @property
    def box(self) -> Box | None:
        return None if self.target is None else target_box(self.instances("front") == self.target)

    @property
    def things(self) -> Mapping[int, Any]:
        return {thing.instance: thing for thing in home().objects}


def largest_thing(seen: Seen) -> int:
    """Number of the object that covers most of the front view."""
    numbers, counts = np.unique(seen.instances("front"), return_counts=True)
    counts[~np.isin(numbers, list(seen.things))] = 0
    return int(numbers[int(counts.argmax())])


def imagined(plan: ActionPlan, seen: Seen, *, clip: int = 0, view: str = "panorama") -> Rollout:
    """What truly follows from a plan, filled up with forward steps to `clip` frames after the first."""
    here = seen.stance.turned(plan.turn_left_rad)
    stances = [here]
    for step in (*plan.steps, *(F,) * (clip - len(plan.steps))):
        here, _ = walked(home().floor, here, step)
        stances.append(here)
    camera = PANORAMA if view == "panorama" else CAMERA
    frames = np.stack([home().view(one.eye(), camera).rgb for one in stances])
    numbers, valid = np.arange(len(frames)), 1 + len(plan.steps)
    return Rollout(frames, view, seen.camera, np.where(numbers < valid, numbers, -1), valid)  # type: ignore[arg-type]


def candidates(plans: Sequence[ActionPlan], seen: Seen | None = None, **how: Any) -> list[Candidate]:
    """The plans, with what was imagined for each where `seen` is given."""
    return [Candidate(plan, None if seen is None else imagined(plan, seen, **how), lambda: None) for plan in plans]
