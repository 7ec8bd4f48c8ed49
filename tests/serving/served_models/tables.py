"""Tables as their authors write them, well-behaved and not: a hand that goes straight, a centimetre a step."""

import time

import numpy as np

from worldgauge_serve import Acted, Table, WorldSpec


class Tables:
    """Tasks whose hand drifts with every pose. fault: what is wrong; slow_s: what a pose takes; more: of the spec."""

    def __init__(self, tasks=1, fault="", slow_s=0.0, exact=True, expert=False):
        self.fault, self.slow_s, self.expert = fault, slow_s, expert
        self.spec = WorldSpec(
            "straight",
            tasks=[{"name": f"reach-{n}", "variations": 2, "words": "reach up"} for n in range(tasks)],
            views=[{"name": "front", "camera": {"vfov_deg": 40.0}}, {"name": "wrist", "camera": {"vfov_deg": 60.0}}],
            workspace=((-0.3, -0.5, 0.6), (0.7, 0.5, 1.6)),
            exact=exact,
            expert=expert,
        )

    def open(self, task, variation, seed, layout):
        assert layout is None
        return Straight(self, variation, seed)


class Straight(Table):
    """Solved when the hand has been 0.2 m above its start."""

    instruction, wordings, digest = "reach up", ("go up",), "of the table"
    things = ({"name": "red ball", "category": "ball", "colour": "red", "half_m": (0.02, 0.02, 0.02)},)

    def __init__(self, world, variation, seed):
        self._world = world
        self._numbers = np.array([0.1, 0.001 * (seed % 100), 1.0 + 0.1 * variation, 1, 0, 0, 0, 1, 0])
        self._start = self._numbers[2]

    @property
    def hand(self):
        return self._numbers[:8]

    @property
    def places(self):
        return np.array([[0.3, 0.0, 0.8]])

    @property
    def progress(self):
        return float(np.clip((self._numbers[2] - self._start) / 0.2, 0, 1))

    def pose(self, view):
        pose = np.eye(4)
        pose[:3, 3] = self._numbers[:3] if view == "wrist" else (1, 0, 1)
        return pose

    def picture(self, view, size_px, depth, instances):
        place = (self._numbers[:3] * 100).astype(np.uint8)
        if self._world.fault == "pictures":
            place = np.random.default_rng().integers(0, 255, 3).astype(np.uint8)
        found = {"rgb": np.tile(place, (size_px, size_px, 1))}
        found.update({"depth": np.ones((size_px, size_px), np.float32)} if depth else {})
        found.update({"instances": np.ones((size_px, size_px), np.uint16)} if instances else {})
        return found

    def act(self, pose):
        if self._world.fault == "raises":
            raise RuntimeError("the motor is hot")
        if pose[0] > 0.65:
            return Acted("it blew up", True, (), 0.0, unstable=True)
        time.sleep(self._world.slow_s)
        way = np.concatenate([pose[:3] + np.array([0, 2e-5 * self._numbers[8], 0]), pose[3:]])
        count = 1 + int(100 * np.abs(way[:3] - self._numbers[:3]).max())
        states = []
        for share in np.arange(1, count + 1) / count:
            here = self._numbers.copy()
            here[:8] += share * (way - here[:8])
            here[8] += share
            states.append(self._bytes(here))
        self._numbers = np.array([*way, self._numbers[8] + 1])
        return Acted(None, False, states, count / 50)

    def save(self):
        return self._bytes(self._numbers)

    def restore(self, state):
        count = 8 if self._world.fault == "leaves out" else 9
        if len(state) != 8 * count:
            raise ValueError(f"{len(state)} bytes")
        self._numbers[:count] = np.frombuffer(state)

    def plan(self):
        if not self._world.expert:
            return super().plan()
        return [self._numbers[:8] + np.array([0, 0, 0.25, 0, 0, 0, 0, 0])]

    def finish(self):
        if not self._world.expert:
            super().finish()
        self._numbers[2] = self._start + 0.2

    def _bytes(self, numbers):
        return numbers[: 8 if self._world.fault == "leaves out" else 9].tobytes()
