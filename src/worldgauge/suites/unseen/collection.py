"""Collecting homes in which one thing goes on. Any number of workers makes the same files.

One item is one home: a place for each process, and at each place one episode per time away. Speeds are shared by times
away of similar length, so that the same law is left alone for shorter and for longer. Every place is rendered before it
is taken: a state that cannot be told from the others there, or that furniture hides, makes it useless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.core.video import problems
from worldgauge.engine.collect import SEEDS, world_seed_of
from worldgauge.engine.collection import (
    SPLITS,
    Collection,
    DataReport,
    DataTable,
    Item,
    Made,
    Tell,
    collections,
    data_report,
    grouped,
    mean_text,
    spread,
)
from worldgauge.engine.options import option
from worldgauge.metrics.alternatives import DIFFERS
from worldgauge.suites.unseen.format import (
    FPS,
    SHOWN,
    STILL,
    TURN,
    LookAway,
    frames_of,
    read_episode,
    stem_id,
    stems_of,
    write_episode,
)
from worldgauge.suites.unseen.scoring import STEPS, pictures_of, states_between, truth_of
from worldgauge.suites.unseen.worlds import FOOTPRINTS, LAMP, PROCESSES, STATES, GoingOn, ProcessKind
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.camera import render
from worldgauge.worlds.walking.floor import FloorPlan

HFOV_DEG, EYE_M = 80.0, 1.5
DISTANCE_M = (1.8, 2.1)
FREE_M = 0.9
"""Floor that is free of furniture on both sides of the line of sight."""
VISIBLE = 60 / (160 * 90)
"""Share of the picture that a thing covers at least, in every state."""
QUARTER = STEPS // 4
"""Alternatives between a state and one that no longer counts as it."""
_CLEAR = 32
"""Grey levels by which such states differ, in as much of the picture."""
_PACES, _STEADY = (12, 16), 5
"""Frames of a colour of the lamp, so that all are watched; and those before and after the last frame that it lasts."""
_LONGEST = 3.0
"""Times away that share a speed last at most so many times as long as the shortest of them."""
_HOMES, _PLACES = 10, 12
"""Homes, and places in each, that are tried."""
_MOST_HOMES = 1000


@dataclass(frozen=True)
class UnseenOptions:
    """What a collection of homes holds."""

    homes: int = option(24, "Number of homes.", low=1, high=_MOST_HOMES)
    things: tuple[ProcessKind, ...] = option(PROCESSES, "Things in each home.")
    away: tuple[int, ...] = option((2, 5, 10), "Seconds of looking away, one episode each.", low=1, high=120)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)
    size: tuple[int, int] = option((640, 360), "Width and height of a frame in pixels.", low=48, high=1920)
    split: str = option("test", 'Split of the homes: "test", "train" or "val".', choices=SPLITS)


class Watched(NamedTuple):
    """A thing as it is watched: its world at time 0, where the camera is, and its headings by time away."""

    world: GoingOn
    position: tuple[float, float, float]
    pitch: float
    yaws: Mapping[int, FloatArray]

    def pose(self, yaw: float) -> FloatArray:
        """The camera with a heading."""
        return pose_from_yaw_pitch(self.position, yaw, self.pitch)


@collections.register("unseen")
class UnseenCollection(Collection):
    """Homes where a cart, a level or a lamp goes on unseen."""

    name = "unseen"
    items_noun = "homes"
    Options = UnseenOptions
    fixed, growing = ("things", "away", "seed", "size", "split"), ("homes",)
    options: UnseenOptions

    def items(self) -> Iterator[Item]:
        """One per home."""
        for number in range(self.options.homes):
            yield Item(f"home-{number:03d}", {"number": number})

    def is_done(self, item: Item) -> bool:
        """Whether all episodes are there."""
        return all(stem.with_suffix(".json").exists() for stem in self._stems(item))

    def clusters(self) -> Iterator[str]:
        """The home of each episode."""
        return (item.id for item in self.items() for _ in self._stems(item))

    def camera(self) -> Mapping[str, Any]:
        """Field of view and height."""
        return {"horizontal_fov_deg": HFOV_DEG, "height_m": EYE_M}

    def make(self, item: Item, progress: Tell) -> Made:
        """Find places in a home, and record all of its episodes."""
        total = len(self.options.things) * sum(map(frames_of, self.options.away))
        if self.is_done(item):
            worlds = {stem_id(stem): read_episode(stem).world for stem in self._stems(item)}
            return Made(total, worlds={name: facts for name, facts in worlds.items() if facts is not None})
        camera, discards, drawn = Camera.from_horizontal_fov(*self.options.size, HFOV_DEG), [], count()
        for attempt in range(_HOMES):
            entropy = (self.options.seed, item.args["number"] + _MOST_HOMES * attempt)
            home = Home(world_seed_of(*entropy, self.options.split))
            try:
                found = [
                    one
                    for name in self.options.things
                    for one in find_place(home, name, self.options.away, camera, entropy)
                ]
            except NoPlaceError as error:
                discards.append(str(error))
                continue
            made: dict[str, WorldFacts] = {}
            for watched in found:
                made |= self._record(item.id, watched, camera, lambda: progress(next(drawn), total))
            return Made(total, worlds=made, discards=discards)
        return Made(discards=discards, failure=f"none of {_HOMES} homes has a place for each thing")

    def _stems(self, item: Item) -> list[Path]:
        """Path of each episode, without suffix."""
        return [self._stem(item.id, process, away) for process in self.options.things for away in self.options.away]

    def _stem(self, home: str, process: ProcessKind, away: int) -> Path:
        return self.out / home / process / f"away-{away:02d}"

    def _record(self, home: str, watched: Watched, camera: Camera, tell: Callable[[], None]) -> dict[str, WorldFacts]:
        """Write the episodes of a thing; returns the world of each."""
        world, number = watched.world, len(watched.world.plan.objects) + 1

        @lru_cache(maxsize=4 * SHOWN)  # what is watched, and the room behind, are the same for all times away
        def seen(yaw: float, state: float) -> tuple[Image, bool]:
            view = render(world.showing(state), watched.pose(yaw), camera)
            return view.rgb, bool((view.instance == number).any())

        def frames(yaws: FloatArray, hidden: range) -> Iterator[Image]:
            for n, yaw in enumerate(yaws):
                tell()
                yield seen(float(yaw), first if n in hidden else world.state_at(n / FPS))[0]

        facts = GoingOn(**{**world.facts.params, "time_s": (SHOWN - 1) / FPS}).facts
        first, written = world.state_at(0.0), {}
        for away, yaws in watched.yaws.items():
            hidden = [n for n, yaw in enumerate(yaws) if not seen(float(yaw), first)[1]]
            look = LookAway(watched.position, watched.pitch, yaws, away, (hidden[0], hidden[-1]))
            stem = self._stem(home, world.process, away)
            pictures = frames(yaws, range(hidden[0], hidden[-1] + 1))
            write_episode(stem, look, pictures, facts, camera, str(caption_at(world, watched.pose(yaws[0]), camera)))
            written[stem_id(stem)] = facts
        return written

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Can every episode be read, and with `decode`: does its last frame show the state that the law says?"""
        stems = stems_of(root)
        if not stems:
            raise DataError(
                f"{root}: holds no <home>/<process>/away-<seconds>.json; collect with: worldgauge collect unseen"
            )
        faults: list[tuple[str, str]] = []
        hidden_s: dict[str, list[float]] = {}
        n_frames = 0
        for stem in stems:
            try:
                if decode and (found := problems(stem.with_suffix(".mp4"))):
                    raise DataError(found[0])
                episode = read_episode(stem)
                if decode and (outcome := truth_of(episode)) != "advanced":
                    raise DataError(f"{stem}.mp4: its end is read as '{outcome}'; collect it again")
            except (DataError, WorldError) as error:
                faults.append((stem_id(stem), str(error)))
                continue
            first, last = episode.facts["unseen"]
            hidden_s.setdefault(stem.parent.name, []).append((last - first + 1) / FPS)
            n_frames += len(episode)
        rows = tuple((name, str(len(own)), mean_text(spread(own))) for name, own in sorted(hidden_s.items()))
        table = DataTable("episodes", ("process", "usable", "seconds out of view"), rows)
        facts = {
            "episodes": len(stems),
            "n_valid": len(stems) - len(faults),
            "n_frames": n_frames,
            "homes": len({stem.parts[-3] for stem in stems}),
        }
        return data_report("episodes", "episodes", grouped("error", "not usable", faults, "episode"), table, facts)


class NoPlaceError(DataError):
    """Why a home is not taken."""


def find_place(
    home: Home, process: ProcessKind, away: Sequence[int], camera: Camera, entropy: Sequence[int]
) -> list[Watched]:
    """Find a free place for a process, from which all of its states can be told apart; one entry per law.

    Raises NoPlaceError where there is none.
    """
    rng = np.random.default_rng([*entropy, PROCESSES.index(process)])
    spots, reason = _free_spots(home.floor, FOOTPRINTS[process]), "no free floor"
    for side, x, y in spots[rng.permutation(len(spots))[:_PLACES]]:
        near = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][int(side)], np.float64)
        right = np.array([-near[1], near[0]])
        at = np.array([x, y]) + rng.uniform(*DISTANCE_M) * near + rng.uniform(-0.15, 0.15) * right
        heading = float(np.arctan2(*(np.array([x, y]) - at)[::-1]) + np.radians(rng.uniform(-3, 3)))
        pitch, turn = float(rng.uniform(-0.34, -0.29)), rng.choice([-1, 1])
        found = []
        for group in _sharing(process, away):
            start, rate = _law(process, group, rng)
            world = GoingOn(home.seed, process, (float(x), float(y)), int(side), start, rate)
            yaws = {one: heading + turn * _turned(one) for one in group}
            found.append(Watched(world, (float(at[0]), float(at[1]), EYE_M), pitch, yaws))
        reason = next((fault for one in found if (fault := _fault(one, camera))), "")
        if not reason:
            return found
    raise NoPlaceError(f"{process}: {reason}")


def _free_spots(floor: FloorPlan, footprint: tuple[float, float]) -> FloatArray:
    """Side and middle (N, 3) of all places with free floor beneath the thing, and up to the camera and beyond."""
    free, cell = floor.free, floor.cell_m
    sums = np.pad(np.cumsum(np.cumsum(~free, 0), 1), ((1, 0), (1, 0)))
    x, y = np.indices(free.shape)
    found = []
    for side, near in enumerate(np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])):
        fits = np.ones(free.shape, np.bool_)
        for across, back, ahead in ((footprint[0] / 2, -footprint[1] / 2, 0.5), (FREE_M, 0.0, DISTANCE_M[1] + 0.35)):
            ends = np.stack([back * near, ahead * near]) + across * np.array([[-1], [1]]) * np.abs(near[::-1])
            (x0, y0), (x1, y1) = np.floor(np.sort(ends, axis=0) / cell).astype(int) + np.array([[0], [1]])
            inside = (x + x0 >= 0) & (y + y0 >= 0) & (x + x1 <= free.shape[0]) & (y + y1 <= free.shape[1])
            a, b = (np.clip(x + one, 0, free.shape[0]) for one in (x0, x1))
            c, d = (np.clip(y + one, 0, free.shape[1]) for one in (y0, y1))
            fits &= inside & (sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c] == 0)
        points = floor.points_of(np.argwhere(fits))
        found.append(np.column_stack([np.full(len(points), side), points]))
    return np.concatenate(found)


def _sharing(process: ProcessKind, away: Sequence[int]) -> list[list[int]]:
    """Times away that share a law: the longest lasts at most `_LONGEST` times as long as the shortest. A lamp has one
    pace per time, since few paces end well within a colour."""
    groups: list[list[int]] = []
    for one in sorted(away):
        if groups and process != "lamp" and _left_s(one) <= _LONGEST * _left_s(groups[-1][0]):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _left_s(away: int) -> float:
    """Seconds from the last frame that is watched to the last of an episode."""
    return (frames_of(away) - SHOWN) / FPS


def _law(process: ProcessKind, away: Sequence[int], rng: np.random.Generator) -> tuple[float, float]:
    """Start and rate. At twice the true speed the thing stays within its bounds; the end says nothing about the law."""
    if process == "lamp":
        return _pace(max(away), rng)
    span, lasts_s = STATES[process], (SHOWN - 1) / FPS + 2 * _left_s(max(away))
    way = float(rng.uniform(0.75, 1.0)) * (span.high - span.low)
    start = span.low + float(rng.uniform(0, 1)) * (span.high - span.low - way)
    return (start, way / lasts_s) if rng.random() < 0.5 else (span.low + span.high - start, -way / lasts_s)


def _pace(away: int, rng: np.random.Generator) -> tuple[float, float]:
    """Start and rate of a lamp whose last colour is another one than when it was left, and has lasted and will last."""
    while True:
        frames = int(rng.integers(*_PACES))
        shift = int(rng.integers(len(LAMP) * frames))
        end, left = shift + frames_of(away) - 1, shift + SHOWN - 1
        if (end // frames - left // frames) % len(LAMP) and _STEADY <= end % frames < frames - _STEADY:
            return shift / frames, FPS / frames


def _turned(away: int) -> FloatArray:
    """Heading of each frame, less the first: watch, half a turn, wait, turn back, look again."""
    out = np.pi * np.arange(1, TURN + 1) / TURN
    return np.concatenate([np.zeros(SHOWN), out, np.full(FPS * away, np.pi), out[-2::-1], np.zeros(STILL + 1)])


def _fault(watched: Watched, camera: Camera) -> str:
    """Why a place is not taken: a state is hidden, or looks like another one. Empty for a good place."""
    world, size = watched.world, (160, round(160 * camera.height / camera.width))
    left = world.state_at((SHOWN - 1) / FPS)
    for away, yaws in watched.yaws.items():
        states = states_between(world, left, true := world.state_at((frames_of(away) - 1) / FPS))
        *frames, absent = pictures_of(world, states, watched.pose(yaws[-1]), camera.resized(*size), size)
        if min(_differing(frame, absent) for frame in frames) < VISIBLE:
            return "a state of it is hidden"
        for at in (int(np.abs(states - one).argmin()) for one in (left, true)):
            beside = [n for n in range(len(frames)) if abs(n - at) == QUARTER or (world.process == "lamp" and n != at)]
            if min(_differing(frames[n], frames[at], _CLEAR) for n in beside) < VISIBLE:
                return "states of it look alike"
    return ""


def _differing(one: Image, other: Image, by: int = DIFFERS) -> float:
    """Share of the pixels in which two pictures differ by more grey levels than that."""
    return float((np.abs(one.astype(np.int16) - other) > by).any(-1).mean())
