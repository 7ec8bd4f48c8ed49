"""Small LoopNav walks and folders for tests."""

from __future__ import annotations

import json

import numpy as np

from worldgauge.suites.loopnav.format import write_trajectory
from worldgauge.worlds.walking.walk import Walk, WalkGoal

STEP = 0.216


def straight_loop(steps=30, *, radius=5, x=5.5, y=-7.5):
    """A full turn at A, `steps` to the north, a half turn, back again, three idle records."""
    rows = []  # y, yaw, forward, turn, goal
    cell = WalkGoal(int(np.floor(x)), int(np.floor(y)), 64)
    away = WalkGoal(cell.x, int(np.floor(y + steps * STEP)), cell.z)
    home = WalkGoal(cell.x, cell.y, None, 1)
    yaw, place = np.pi / 2, y

    def turn(by, goal):
        nonlocal yaw
        for part in [0.1] * int(by / 0.1) + [by % 0.1]:
            yaw += part
            rows.append((place, yaw, False, part, goal))

    def go(sign, goal):
        nonlocal place
        for _ in range(steps):
            rows.append((place, yaw, True, 0.0, goal))
            place += sign * STEP
        rows.append((place, yaw, False, 0.0, goal))

    rows.append((place, yaw, False, 0.0, cell))
    turn(2 * np.pi, cell)
    go(1, away)
    turn(np.pi, home)
    go(-1, home)
    rows += [(place, yaw, False, 0.0, None)] * 3
    ys, yaws, forward, turns, goals = zip(*rows, strict=True)
    n = len(rows)
    return Walk(
        positions=np.round(np.stack([np.full(n, x), ys, np.full(n, 64.0)], -1), 3),
        yaw=np.round(np.array(yaws) - np.pi / 2, 3) + np.pi / 2,
        pitch=np.zeros(n),
        camera=np.stack([turns, np.zeros(n)], -1),
        forward=np.array(forward),
        jump=np.zeros(n, bool),
        goals=goals,
        kind="ABA",
        radius=radius,
        seed=42,
    )


def frames_of(n, seed=0):
    return np.random.default_rng(seed).integers(0, 255, (n, 12, 16, 3), dtype=np.uint8)


def put(root, walk=None, *, stamp="01-01_00-00-00", location="plains_village_20"):
    """Write one trajectory; returns its JSON file."""
    walk = straight_loop() if walk is None else walk
    return write_trajectory(
        root,
        location=location,
        type=walk.kind,
        radius=walk.radius,
        stamp=stamp,
        walk=walk,
        frames=frames_of(len(walk)),
        seed=walk.seed,
    )


def random_walk(seed, n):
    """Any numbers that the format can hold, with goals of every form."""
    rng = np.random.default_rng(seed)
    goals = [
        None,
        WalkGoal(*(int(v) for v in rng.integers(-2000, 2000, 3))),
        WalkGoal(*(int(v) for v in rng.integers(-2000, 2000, 2)), None, int(rng.integers(1, 30))),
        WalkGoal(*(int(v) for v in rng.integers(-2000, 2000, 2))),
    ]
    return Walk(
        positions=np.round(rng.uniform(-3000, 3000, (n, 3)), 3),
        yaw=np.round(rng.uniform(-40, 40, n), 3) + np.pi / 2,
        pitch=np.round(rng.uniform(-1.5, 1.5, n), 3),
        camera=rng.uniform(-0.15, 0.15, (n, 2)),
        forward=rng.random(n) < 0.5,
        jump=rng.random(n) < 0.5,
        goals=tuple(goals[i] for i in rng.integers(0, 4, n)),
        kind="ABA" if seed % 2 else "ABCA",
        radius=int(rng.choice([5, 15, 30, 50])),
        seed=int(rng.integers(2**31)),
    )


def edit(path, change):
    """Change the records of a JSON file in place; a returned value replaces them."""
    rows = json.loads(path.read_text())
    changed = change(rows)
    path.write_text(json.dumps(rows if changed is None else changed))
