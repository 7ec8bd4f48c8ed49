"""Navigation decisions with the oracle as world model, against what rendering the very same frames alone would take."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.episode import Goal, WorldFacts
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.models.references.truth import Truth
from worldgauge.suites.closedloop.home.env import HomeEnv
from worldgauge.suites.closedloop.home.imagination import HomeImagination
from worldgauge.suites.closedloop.loop import run_episode
from worldgauge.suites.closedloop.navigation.task import NavigationRules, NavigationTask
from worldgauge.suites.closedloop.policies.contract import revisers
from worldgauge.suites.closedloop.policies.heuristic import HeuristicProposer
from worldgauge.suites.closedloop.protocol import TracedEnv
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.trace import Tracer
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.stance import Stance

REFERENCE = "the camera alone, rendering each of these frames once"
EPISODES = 4
CORES = 2
GOAL = 30.0


def run() -> dict[str, Any]:
    """Decisions a second on two cores at 128x128: three plans of five steps, imagined, compared with the goal, traced.

    Processor time of one process is counted and doubled: episodes are independent, and workers are processes.
    """
    home, settings = Home(3), Settings.of({"view_px": 128})
    walk(home, settings, 0)
    core, wall, decisions, frames = time.process_time(), time.perf_counter(), 0, 0
    for number in range(1, EPISODES + 1):
        made, drawn = walk(home, settings, number)
        decisions += made
        frames += drawn
    core, wall = time.process_time() - core, time.perf_counter() - wall
    bare = time.process_time()
    camera = Camera.from_horizontal_fov(128, 128, 90)
    geodesic, rng = Geodesic(home.floor), np.random.default_rng(1)
    for _ in range(frames):
        x, y = geodesic.random_point(rng)
        home.view(Stance(float(x), float(y), float(rng.uniform(-3, 3))).eye(), camera)
    bare = time.process_time() - bare
    ours = CORES * decisions / core
    return {
        "name": "closedloop",
        "unit": "navigation decisions per second on two cores, oracle model, 128x128",
        "ours": round(ours, 1),
        "wall_one_process": round(decisions / wall, 1),
        "reference": round(CORES * decisions / bare, 1),
        "reference_name": REFERENCE,
        "ratio": round(bare / core, 2),
        "goal": GOAL,
        "met": ours >= GOAL,
        "frames_per_decision": round(frames / decisions, 1),
    }


def walk(home: Home, settings: Settings, number: int) -> tuple[int, int]:
    """Decisions of an episode that cannot succeed, its goal lies out of reach, and views rendered for it."""
    rng = np.random.default_rng(number)
    start, goal = (Stance(*map(float, Geodesic(home.floor).random_point(rng)), float(rng.uniform(-3, 3))) for _ in "ab")
    defaults = settings.of_task("navigation")
    camera, panorama = Camera.from_horizontal_fov(128, 128, 90), Panorama(1024, 576)
    rendered = _Counted(home)
    simulator = HomeEnv(rendered, start, camera=camera, panorama=panorama)  # type: ignore[arg-type]
    imagine = HomeImagination(Truth(), simulator, settings, defaults, WorldFacts("indoor", {"seed": 3}), number, "t")
    kit = NavigationTask.kit(settings)
    picture = Goal(image=home.view(goal.eye(), Panorama(256, 144)).rgb)
    rules = NavigationRules(simulator, goal, -1.0, defaults, settings)
    with tempfile.TemporaryDirectory() as folder, Tracer(Path(folder), simulator) as tracer:
        env = TracedEnv(simulator, tracer)
        env.reset()
        reviser = revisers.get("similarity")(kit)
        run_episode(env, picture, HeuristicProposer(kit), reviser, rules, imagine, [number], tracer.decided)
        return tracer.decisions, rendered.views


class _Counted:
    """A home that counts its views."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.views = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        self.views += 1
        return self._home.view(*args, **kwargs)
