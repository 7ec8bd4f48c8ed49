"""Navigation decisions with the oracle as world model, against what rendering the very same frames alone would take.

In a home, and in the same home as a scan.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.models.baselines.truth import TruthModel
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeImagination
from worldgauge.suites.worldinworld.loop import run_episode
from worldgauge.suites.worldinworld.navigation.task import NavigationRules, NavigationTask
from worldgauge.suites.worldinworld.policies.contract import revisers
from worldgauge.suites.worldinworld.policies.simple import HeuristicProposer
from worldgauge.suites.worldinworld.protocol import TracedEnv
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.suites.worldinworld.trace import Tracer
from worldgauge.worlds.export import export_starter
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.scan import Scan, sources
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import ground_of
from worldgauge.worlds.walking.primitives import Stance

REFERENCE = "the camera alone, rendering each of these frames once"
EPISODES = 4
CORES = 2
GOAL, SCAN_GOAL = 30.0, 20.0
CAMERA = Camera.from_horizontal_fov(128, 128, 90)


def run() -> dict[str, Any]:
    """Decisions a second on two cores at 128x128: three plans of five steps, imagined, compared with the goal, traced.

    Processor time of one process is counted and doubled: episodes are independent, and workers are processes.
    """
    settings = LoopSettings.of({"view_px": 128, "candidates": 3, "length": 5, "decisions": 20})
    home = Home(3)
    core, wall, decisions, frames = measured(home, settings)
    bare = time.process_time()
    geodesic, rng = Geodesic(home.floor), np.random.default_rng(1)
    for _ in range(frames):
        x, y = geodesic.random_point(rng)
        home.view(Stance(float(x), float(y), float(rng.uniform(-3, 3))).eye(), CAMERA)
    bare = time.process_time() - bare
    ours, scan = CORES * decisions / core, _in_scan(settings)
    return {
        "name": "worldinworld",
        "unit": "navigation decisions per second on two cores, oracle model, 128x128",
        "ours": round(ours, 1),
        "wall_one_process": round(decisions / wall, 1),
        "reference": round(CORES * decisions / bare, 1),
        "reference_name": REFERENCE,
        "ratio": round(bare / core, 2),
        "goal": GOAL,
        "in_a_scan": [round(scan, 1), SCAN_GOAL],
        "met": ours >= GOAL and scan >= SCAN_GOAL,
        "frames_per_decision": round(frames / decisions, 1),
    }


def measured(world: Walkable, settings: LoopSettings) -> tuple[float, float, int, int]:
    """Processor time and time by the clock of a few episodes, their decisions, and views rendered for them."""
    counted = _Counted(world)
    walk(counted, settings, 0)
    counted.views = 0
    core, wall = time.process_time(), time.perf_counter()
    decisions = sum(walk(counted, settings, number) for number in range(1, EPISODES + 1))
    return time.process_time() - core, time.perf_counter() - wall, decisions, counted.views


def walk(counted: _Counted, settings: LoopSettings, number: int) -> int:
    """Decisions of an episode that cannot succeed: its goal lies out of reach."""
    world: Any = counted
    rng, ground = np.random.default_rng(number), ground_of(world)
    start, goal = (_stance(ground.random_point(rng), float(rng.uniform(-3, 3))) for _ in "ab")
    defaults, panorama = settings.of_task("navigation"), Panorama(1024, 576)
    simulator = HomeTaskEnv(world, start, camera=CAMERA, panorama=panorama)
    imagine = HomeImagination(TruthModel(), simulator, settings, defaults, world.facts, number, "t")
    kit = NavigationTask.kit(settings)
    picture = Goal(image=world.view(goal.eye(), Panorama(256, 144)).rgb)
    rules = NavigationRules(simulator, goal, -1.0, defaults, settings)
    with tempfile.TemporaryDirectory() as folder, Tracer(Path(folder), simulator) as tracer:
        env = TracedEnv(simulator, tracer, lambda: None, lambda: None)
        env.reset()
        reviser = revisers.get("similarity")(kit)
        run_episode(env, picture, HeuristicProposer(kit), reviser, rules, imagine, [number], tracer.decided)
        return tracer.decisions


def _in_scan(settings: LoopSettings) -> float:
    """Decisions a second in the starter home as a scan."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = {"WORLDGAUGE_CONFIG": str(folder / "config"), "WORLDGAUGE_CACHE": str(folder / "cache")}
        with patch.dict(os.environ, own):
            export_starter(folder / "scans")
            sources.add("homes", folder / "scans")
            core, _, decisions, _ = measured(Scan("homes/home-1"), settings)
    return CORES * decisions / core


def _stance(at: FloatArray, yaw: float) -> Stance:
    x, y, z = at.tolist()
    return Stance(x, y, yaw, z)


class _Counted:
    """A world that counts its views."""

    def __init__(self, world: Walkable) -> None:
        self._world = world
        self.views = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        self.views += 1
        return self._world.view(*args, **kwargs)
