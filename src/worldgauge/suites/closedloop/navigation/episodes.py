"""Episodes of image-goal navigation: a start, and the stance at which the goal image was taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import decode_png, png
from worldgauge.core.io import write_file
from worldgauge.engine.options import option
from worldgauge.suites.closedloop.format.contract import MOST_EPISODES, EpisodeFacts, Share, part_folder
from worldgauge.suites.closedloop.format.files import bytes_of, members_of
from worldgauge.suites.closedloop.format.rows import as_stored
from worldgauge.suites.closedloop.navigation.format import (
    GOAL_RADIUS_M,
    NavigationEpisode,
    NavigationFormat,
    write_navigation,
)
from worldgauge.suites.closedloop.sampling import HomeSampler, HomeSearch, HomeShare, by_number
from worldgauge.worlds import View, World
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground, HasGround
from worldgauge.worlds.walking.primitives import Stance, Steps

REACH_M = (1.0, 5.0)
"""Least and most path length from start to goal."""
BANDS = 4
"""Equal bands of REACH_M; episodes use them in turn, so there are as many paths of 1 to 2 m as of 4 to 5 m."""
OPEN_M = 0.6
"""Least depth in the middle of the goal view: closer, it is an image of a wall."""

_VIEW = Camera.from_horizontal_fov(96, 96, 90.0)
_ROOM_M = 0.2
_TRIES = 60
_YAWS = 8
_LEAST_THINGS, _THING = 2, 0.01
_MOST_NEAR = 0.2
_STARTS = 60
_WALL = "goal view shows nothing but a wall"
_SKY_M = 1e6
_WHOLE = 0.95
"""Least share of a goal view that was scanned."""


@dataclass(frozen=True)
class NavigationPair:
    """One episode of image-goal navigation.

    Attributes:
        distance_m: Geodesic metres from start to goal.
        steps: Primitives of a walker that follows the shortest path from `start` until within the goal's radius;
            their number is the published `step_to_goal`.
    """

    start: Stance
    goal: Stance
    distance_m: float
    steps: Steps
    discards: tuple[str, ...] = ()


class Places(Protocol):
    """Where navigation begins and ends in a world."""

    world: World

    def goal(self, rng: np.random.Generator) -> FloatArray | None:
        """A place (3,) where a picture can be taken; None where this draw gives none."""
        ...

    def start(self, goal: FloatArray, low: float, high: float, rng: np.random.Generator) -> FloatArray | None:
        """A place (3,) about `low` to `high` metres of way from a goal; None where there is none."""
        ...

    def distance(self, start: FloatArray, goal: FloatArray) -> float:
        """Metres of the way."""
        ...

    def steps_to(self, start: Stance, goal: FloatArray) -> Steps | None:
        """Primitives until within the radius of the goal."""
        ...


class HomePlaces:
    """Places on the floor of a home."""

    def __init__(self, home: Home, geodesic: Geodesic) -> None:
        self.world: World = home
        self._floor, self._geodesic = home.floor, geodesic

    def goal(self, rng: np.random.Generator) -> FloatArray | None:
        """See `Places.goal`."""
        place = self._geodesic.random_point(rng)
        return None if self._floor.clearance_at(place) < _ROOM_M else np.append(place, 0.0)

    def start(self, goal: FloatArray, low: float, high: float, rng: np.random.Generator) -> FloatArray | None:
        """See `Places.start`."""
        # The distance field is slightly longer than the path, so the chosen path is measured again.
        metres = self._geodesic.field(goal[:2])
        cells = np.argwhere((metres >= low) & (metres <= high * 1.08) & (self._floor.clearance_m >= _ROOM_M))
        if not len(cells):
            return None
        from_centre = rng.uniform(-0.49, 0.49, 2) * self._floor.cell_m
        return np.append(self._floor.points_of(cells[int(rng.integers(len(cells)))]) + from_centre, 0.0)

    def distance(self, start: FloatArray, goal: FloatArray) -> float:
        """See `Places.distance`."""
        return self._geodesic.distance(start[:2], goal[:2])

    def steps_to(self, start: Stance, goal: FloatArray) -> Steps | None:
        """See `Places.steps_to`."""
        return self._geodesic.steps_to(start, goal[:2], GOAL_RADIUS_M)


class GroundPlaces:
    """Places on the ground of a scan, on all its storeys."""

    def __init__(self, world: World, ground: Ground) -> None:
        self.world, self._ground = world, ground

    def goal(self, rng: np.random.Generator) -> FloatArray | None:
        """See `Places.goal`."""
        return self._ground.random_point(rng)

    def start(self, goal: FloatArray, low: float, high: float, rng: np.random.Generator) -> FloatArray | None:
        """See `Places.start`."""
        for _ in range(_STARTS):
            place = self._ground.random_point(rng)
            if np.linalg.norm(place - goal) <= high and low <= self._ground.distance(place, goal) <= high:
                return place
        return None

    def distance(self, start: FloatArray, goal: FloatArray) -> float:
        """See `Places.distance`."""
        return self._ground.distance(start, goal)

    def steps_to(self, start: Stance, goal: FloatArray) -> Steps | None:
        """See `Places.steps_to`."""
        return self._ground.steps_to(start, goal, GOAL_RADIUS_M)


def navigations(
    places: Places, rng: np.random.Generator, bands: Iterable[int], failed: Counter[str] | None = None
) -> Iterator[NavigationPair]:
    """Yield a pair per band; stop if none is found."""
    for band in bands:
        pair = _find(places, rng, band % BANDS)
        if isinstance(pair, list):
            if failed is not None:
                failed.update(pair)
            return
        yield pair


def _find(places: Places, rng: np.random.Generator, band: int) -> NavigationPair | list[str]:
    """Return a pair of this band, or of another if there is none, or why there is none at all."""
    discards: list[str] = []
    width = (REACH_M[1] - REACH_M[0]) / BANDS
    for wanted in sorted(range(BANDS), key=lambda other: abs(other - band)):
        low = REACH_M[0] + wanted * width
        for _ in range(_TRIES):
            pair = _try(places, rng, low, low + width)
            if isinstance(pair, NavigationPair):
                return NavigationPair(pair.start, pair.goal, pair.distance_m, pair.steps, tuple(discards))
            discards.append(pair)
    return discards


def _try(places: Places, rng: np.random.Generator, low: float, high: float) -> NavigationPair | str:
    """Return a pair with a path of `low` to `high` metres, or why this draw gives none."""
    place = places.goal(rng)
    if place is None:
        return "no room at the goal"
    yaws = rng.uniform(-math.pi, math.pi, _YAWS)
    for yaw in yaws:
        goal = _stance(place, yaw)
        fault = _fault(places.world, goal)
        if not fault:
            break
    else:
        return fault
    begin = places.start(place, low, high, rng)
    if begin is None:
        return "no start at the right distance"
    start = _stance(begin, rng.uniform(-math.pi, math.pi))
    distance_m = places.distance(begin, place)
    if not low <= distance_m <= high:
        return "no start at the right distance"
    if _near(places.world.view(start.eye(), _VIEW)) > _MOST_NEAR:
        return "something covers the lens at the start"
    steps = places.steps_to(start, place)
    if steps is None:
        return "steps do not lead to the goal"
    return NavigationPair(start, goal, distance_m, steps)


def _stance(at: FloatArray, yaw: float) -> Stance:
    # Rounded to micrometres, which files keep in full: readers of the files render the same pixels.
    x, y, z = (round(float(one), 6) for one in at)
    return Stance(x, y, round(float(yaw), 6), z)


def _fault(world: World, goal: Stance) -> str:
    """Why the view at the goal is none: it faces a wall, has holes, or shows nothing that can be looked for."""
    view = world.view(goal.eye(), _VIEW)
    height, width = view.depth.shape
    middle = view.depth[height // 4 : -height // 4, width // 4 : -width // 4]
    # An infinite depth is open sky, and infinities have no quantile. In a scan it is a hole.
    if float(np.quantile(np.minimum(middle, _SKY_M), 0.1)) < OPEN_M or _near(view) > _MOST_NEAR:
        return _WALL
    if isinstance(world, HasGround):
        if np.isfinite(view.depth).mean() < _WHOLE:
            return "goal view has holes"
        if not view.instance.any():
            return ""  # nothing is named in this scan: what is far enough away must do
    pixels = np.bincount(view.instance.ravel())[1:]
    return "" if int((pixels >= _THING * view.instance.size).sum()) >= _LEAST_THINGS else _WALL


def _near(view: View) -> float:
    """Return the share of the pixels closer than 35 cm, where the lens is covered."""
    return float((view.depth < 0.35).mean())


@dataclass(frozen=True)
class NavigationOptions:
    """Options of a collection."""

    navigation: int = option(
        NavigationFormat.published,
        "Episodes of navigation: go to where a picture was taken.",
        low=0,
        high=MOST_EPISODES,
    )


class NavigationSampler(HomeSampler):
    """Collects them, and takes the pictures of their goals."""

    kind, Options, id_form, pictures, in_scans = "navigation", NavigationOptions, "goal-{:04d}", 1, True

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """Starts and goals, with ways of all lengths."""
        rng = search.share.rng(self.kind)
        home = isinstance(search.world, Home)
        places = HomePlaces(search.home, search.geodesic) if home else GroundPlaces(search.world, search.ground)
        for one in navigations(places, rng, bands(search.share), search.discards):
            search.discards.update(one.discards)
            yield {
                "start": as_stored(one.start).plain,
                "goal": as_stored(one.goal).plain,
                "steps": [int(step) for step in one.steps],
                "distance_m": one.distance_m,
            }

    def keep_pictures(self, search: HomeSearch, facts: EpisodeFacts) -> None:
        """The panorama at the goal."""
        rgb = search.world.view(Stance(*facts["goal"]).eye(), search.panorama).rgb
        write_file(self._goal_path(search.out, search.share, facts), png(rgb))

    def is_kept(self, out: Path, share: Share, facts: EpisodeFacts) -> bool:
        """Whether the goal image is in a file of its own, or published already."""
        return self._image(out, share, facts) is not None

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_navigation`."""
        ordered = by_number(found)
        episodes = [
            NavigationEpisode(
                id=self.id_of(facts),
                scene=share.scene,
                start=Stance(*facts["start"]),
                goal=Stance(*facts["goal"]),
                radius_m=GOAL_RADIUS_M,
                step_to_goal=len(facts["steps"]),
            )
            for share, facts in ordered
        ]
        paths = {self.id_of(facts): self._image(out, share, facts) for share, facts in ordered}
        write_navigation(out, episodes, _Goals({id: path for id, path in paths.items() if path is not None}))

    def _goal_path(self, out: Path, share: Share, facts: EpisodeFacts) -> Path:
        """Of an episode's goal image until it is published."""
        return part_folder(out, share) / f"{self.id_of(facts)}.png"

    def _image(self, out: Path, share: Share, facts: EpisodeFacts) -> Path | None:
        """Where the goal image of an episode is; None when it is lost."""
        own, zipped = self._goal_path(out, share, facts), out / "navigation" / "goal_images.zip"
        if own.is_file():
            return own
        try:
            name = f"images/{self.id_of(facts)}.png"
            return zipped / name if name in members_of(zipped) else None
        except DataError:
            return None


def bands(share: HomeShare) -> list[int]:
    """The quarter of the lengths that each of a home's episodes belongs to."""
    return [(number + turn) % BANDS for turn, number in enumerate(share.numbers(NavigationSampler.kind))]


class _Goals(Mapping[str, NDArray[np.uint8]]):
    """Goal images by id, read one at a time."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, id: str) -> NDArray[np.uint8]:
        path = self._paths[id]
        return decode_png(bytes_of(path), str(path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
