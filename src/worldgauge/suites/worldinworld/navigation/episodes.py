"""Episodes of image-goal navigation: a start, and the stance at which the goal image was taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import decode_png, png
from worldgauge.core.io import write_file
from worldgauge.engine.options import option
from worldgauge.suites.worldinworld.format.contract import MOST_EPISODES, EpisodeFacts, Share, part_folder
from worldgauge.suites.worldinworld.format.files import bytes_of, members_of
from worldgauge.suites.worldinworld.format.rows import as_stored
from worldgauge.suites.worldinworld.navigation.format import (
    GOAL_RADIUS_M,
    HIDDEN,
    NavigationEpisode,
    NavigationFormat,
    write_navigation,
)
from worldgauge.suites.worldinworld.sampling import HomeSampler, HomeSearch, HomeShare, by_number
from worldgauge.worlds import View, World
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground, HasGround
from worldgauge.worlds.walking.primitives import Stance, Steps

REACH_M = (1.0, 5.0)
"""Least and most path length from start to goal."""
HIDDEN_M = (1.5, 3.0)
"""The same where the goal is hidden: it is in reach of one plan."""
BANDS = 4
"""Equal bands of path lengths; episodes use them in turn, so there are as many paths of 1 to 2 m as of 4 to 5 m."""
OPEN_M = 0.6
"""Least depth in the middle of the goal view: closer, it is an image of a wall."""

_VIEW = Camera.from_horizontal_fov(96, 96, 90.0)
_AHEAD = Camera.from_horizontal_fov(32, 32, 60.0)
_PERSON_M = 0.2
_MOST_SHOWN = 0.1
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
    """One episode of image-goal navigation. `distance_m`: Geodesic metres from start to goal."""

    start: Stance
    goal: Stance
    distance_m: float
    steps: Steps
    discards: tuple[str, ...] = ()


class HomePlaces:
    """Where navigation begins and ends on the floor of a home. The goal is out of sight at the start."""

    reach_m, design = HIDDEN_M, HIDDEN

    def __init__(self, home: Home, geodesic: Geodesic) -> None:
        self.world: World = home
        self._floor, self._geodesic = home.floor, geodesic

    def goal(self, rng: np.random.Generator) -> FloatArray | None:
        """A place (3,) where a picture can be taken; None where this draw gives none."""
        place = self._geodesic.random_point(rng)
        return None if self._floor.clearance_at(place) < _ROOM_M else np.append(place, 0.0)

    def start(self, goal: FloatArray, low: float, high: float, rng: np.random.Generator) -> FloatArray | None:
        """A place (3,) about `low` to `high` metres of way from a goal that is hidden there; None if none is found."""
        # The distance field is slightly longer than the path, so the chosen path is measured again.
        metres = self._geodesic.field(goal[:2])
        cells = np.argwhere((metres >= low) & (metres <= high * 1.08) & (self._floor.clearance_m >= _ROOM_M))
        for _ in range(_STARTS if len(cells) else 0):
            from_centre = rng.uniform(-0.49, 0.49, 2) * self._floor.cell_m
            place = np.append(self._floor.points_of(cells[int(rng.integers(len(cells)))]) + from_centre, 0.0)
            if is_hidden(self.world, place, goal):
                return place
        return None

    def distance(self, start: FloatArray, goal: FloatArray) -> float:
        """Metres of the way."""
        return self._geodesic.distance(start[:2], goal[:2])

    def steps_to(self, start: Stance, goal: FloatArray) -> Steps | None:
        """Primitives until within the radius of the goal."""
        return self._geodesic.steps_to(start, goal[:2], GOAL_RADIUS_M)


class GroundPlaces:
    """The same on the ground of a scan, on all its storeys, with goals at any place."""

    reach_m, design = REACH_M, 1

    def __init__(self, world: World, ground: Ground) -> None:
        self.world, self._ground = world, ground

    def goal(self, rng: np.random.Generator) -> FloatArray | None:
        """A place (3,)."""
        return self._ground.random_point(rng)

    def start(self, goal: FloatArray, low: float, high: float, rng: np.random.Generator) -> FloatArray | None:
        """See `HomePlaces.start`."""
        for _ in range(_STARTS):
            place = self._ground.random_point(rng)
            if np.linalg.norm(place - goal) <= high and low <= self._ground.distance(place, goal) <= high:
                return place
        return None

    def distance(self, start: FloatArray, goal: FloatArray) -> float:
        """Metres of the way."""
        return self._ground.distance(start, goal)

    def steps_to(self, start: Stance, goal: FloatArray) -> Steps | None:
        """Primitives until within the radius of the goal."""
        return self._ground.steps_to(start, goal, GOAL_RADIUS_M)


WorldPlaces = HomePlaces | GroundPlaces


def navigations(
    places: WorldPlaces, rng: np.random.Generator, bands: Iterable[int], failed: Counter[str] | None = None
) -> Iterator[NavigationPair]:
    """Yield a pair per band; stop if none is found."""
    for band in bands:
        pair = _find(places, rng, band % BANDS)
        if isinstance(pair, list):
            if failed is not None:
                failed.update(pair)
            return
        yield pair


def _find(places: WorldPlaces, rng: np.random.Generator, band: int) -> NavigationPair | list[str]:
    """Return a pair of this band, or of another if there is none, or why there is none at all."""
    discards: list[str] = []
    least, most = places.reach_m
    width = (most - least) / BANDS
    for wanted in sorted(range(BANDS), key=lambda other: abs(other - band)):
        low = least + wanted * width
        for _ in range(_TRIES):
            pair = _try(places, rng, low, low + width)
            if isinstance(pair, NavigationPair):
                return NavigationPair(pair.start, pair.goal, pair.distance_m, pair.steps, tuple(discards))
            discards.append(pair)
    return discards


def _try(places: WorldPlaces, rng: np.random.Generator, low: float, high: float) -> NavigationPair | str:
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


def is_hidden(world: World, start: FloatArray, goal: FloatArray) -> bool:
    """Whether what stands in between hides a person at `goal` (3,) from the eye at `start` (3,)."""
    ahead, left = (goal - start)[:2]
    view = world.view(Stance(start[0], start[1], math.atan2(left, ahead), start[2]).eye(), _AHEAD)
    rows, columns = (slice(size // 3, -size // 3) for size in view.depth.shape)
    shown = view.depth[rows, columns] > math.hypot(ahead, left) - _PERSON_M
    return float(shown.mean()) < _MOST_SHOWN


def _near(view: View) -> float:
    """Return the share of the pixels closer than 35 cm, where the lens is covered."""
    return float((view.depth < 0.35).mean())


@dataclass(frozen=True)
class NavigationOptions:
    """Options of a collection."""

    navigation: int = option(
        NavigationFormat.published, "Episodes of navigation to the place of an image.", low=0, high=MOST_EPISODES
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
                "design": places.design,
            }

    def keep_pictures(self, search: HomeSearch, facts: EpisodeFacts) -> None:
        """The panorama at the goal."""
        rgb = search.world.view(Stance(*facts["goal"]).eye(), search.panorama).rgb
        write_file(_goal_path(self, search.out, search.share, facts), png(rgb))

    def is_kept(self, out: Path, share: Share, facts: EpisodeFacts) -> bool:
        """Whether the goal image is in a file of its own, or published already."""
        return self._image(out, share, facts) is not None

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_navigation`."""
        ordered = by_number(found)
        episodes = []
        for share, facts in ordered:
            start, goal = Stance(*facts["start"]), Stance(*facts["goal"])
            steps = len(facts["steps"])
            own = NavigationEpisode(self.id_of(facts), share.scene, start, goal, GOAL_RADIUS_M, steps)
            episodes.append(replace(own, design=facts["design"]))
        paths = {self.id_of(facts): self._image(out, share, facts) for share, facts in ordered}
        write_navigation(out, episodes, _Goals({id: path for id, path in paths.items() if path is not None}))

    def _image(self, out: Path, share: Share, facts: EpisodeFacts) -> Path | None:
        """Where the goal image of an episode is; None when it is lost."""
        own, zipped = _goal_path(self, out, share, facts), out / "navigation" / "goal_images.zip"
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


def _goal_path(sampler: NavigationSampler, out: Path, share: Share, facts: EpisodeFacts) -> Path:
    """Of an episode's goal image until it is published."""
    return part_folder(out, share) / f"{sampler.id_of(facts)}.png"


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
