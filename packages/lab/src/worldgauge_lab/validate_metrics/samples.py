"""Frames of a metric study, with known objects: of embedded villages, of recorded walks, or synthetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.perception.instances import CATEGORIES
from worldgauge.perception.segment import Colour, ExactSegmenter
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.format import worlds_of
from worldgauge.suites.loopnav.walks import VoxelSite
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M, KINDS, VERTICAL_FOV_DEG
from worldgauge_lab.validate_metrics.perturbations import Labels

HEIGHT, WIDTH = 360, 640
BLOCK = 4
"""Pixels; the grain of the drawn textures."""

_INDEX = {name: i for i, name in enumerate(CATEGORIES, start=1)}
_COLOURS = {
    "sky": ((120, 170, 250),),
    "grass": ((95, 160, 60),),
    "path": ((160, 135, 85),),
    "building": ((150, 110, 70), (130, 130, 130), (190, 180, 150), (140, 70, 55)),
    "tree": ((45, 100, 35), (60, 120, 45), (35, 80, 50)),
    "flower": ((210, 45, 45), (235, 205, 60), (90, 110, 220), (240, 240, 240)),
}


class DrawnScene(NamedTuple):
    """A synthetic scene (H, W): categories are indices of CATEGORIES plus one, instances are object numbers."""

    rgb: NDArray[np.uint8]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]


def draw_scene(seed: int) -> DrawnScene:
    """Draw a synthetic scene of 640x360 pixels, the same for the same seed. Every object has its own number, which its
    visible parts share."""
    rng = np.random.default_rng(seed)
    canvas = _Canvas(rng)
    horizon = int(rng.integers(110, 151))
    rows, columns = canvas.rows, canvas.columns
    canvas.paint("sky", (rows < horizon) & (columns >= 0))
    canvas.paint("grass", (rows >= horizon) & (columns >= 0))
    middle, near, far = rng.uniform(200, 440), rng.uniform(50, 110), rng.uniform(6, 16)
    depth = (rows - horizon) / (HEIGHT - horizon)
    canvas.paint("path", (rows >= horizon) & (np.abs(columns - middle) <= far + (near - far) * depth))

    things = [("building", float(rng.uniform(horizon + 5, horizon + 90))) for _ in range(rng.integers(2, 5))]
    things += [("tree", float(rng.uniform(horizon + 10, horizon + 140))) for _ in range(rng.integers(2, 7))]
    things += [("flower", float(rng.uniform(horizon + 40, HEIGHT - 12))) for _ in range(rng.integers(3, 9))]
    for name, base in sorted(things, key=lambda thing: thing[1]):
        if name == "building":
            width, height = rng.integers(70, 151), rng.integers(60, 121)
            left = rng.uniform(0, WIDTH - width)
            canvas.paint(name, (columns >= left) & (columns < left + width) & (rows >= base - height) & (rows < base))
        else:
            radius = rng.uniform(18, 45) if name == "tree" else rng.uniform(5, 10)
            x, y = rng.uniform(radius, WIDTH - radius), base - radius
            canvas.paint(name, (columns - x) ** 2 + (rows - y) ** 2 <= radius**2)
    return DrawnScene(canvas.rgb, canvas.category, canvas.instance)


class _Canvas:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.rows, self.columns = np.ogrid[:HEIGHT, :WIDTH]
        self.rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        self.category = np.zeros((HEIGHT, WIDTH), np.uint16)
        self.instance = np.zeros((HEIGHT, WIDTH), np.uint16)
        self._count = 0

    def paint(self, name: str, mask: NDArray[np.bool_]) -> None:
        """One instance: a base colour, varied block by block."""
        self._count += 1
        palette = _COLOURS[name]
        base = np.array(palette[self._rng.integers(len(palette))], float) + self._rng.normal(0, 8, 3)
        spread = 2 if name == "sky" else 14
        blocks = self._rng.normal(0, spread, (HEIGHT // BLOCK, WIDTH // BLOCK))
        rows, columns = np.nonzero(mask)
        texture = base + blocks[rows // BLOCK, columns // BLOCK, None]
        self.rgb[rows, columns] = np.clip(texture, 0, 255).astype(np.uint8)
        self.category[mask] = _INDEX[name]
        self.instance[mask] = self._count


VILLAGE_SIZE = (320, 180)
"""Width and height of views of villages, pixels."""


class Shot(NamedTuple):
    """An image (H, W, 3) uint8 with its objects."""

    rgb: Image
    labels: Labels


@dataclass(frozen=True)
class TruthSample:
    """One frame of the ground truth; `aside` are views from cameras moved right, by metres."""

    number: int
    shot: Shot
    aside: Mapping[float, Shot] = field(default_factory=dict)


@dataclass(frozen=True)
class Samples:
    """Frames of a study, made on demand.

    Attributes:
        units: Unit of each frame. Frames of one unit are not independent.
        exact: Whether labels are exact; else guesses from colours, good enough to choose objects.
        coloured: Whether the segmenters by colour know such frames.
        moves: Whether the camera can be moved.
    """

    title: str
    units: tuple[str, ...]
    exact: bool
    coloured: bool
    moves: bool
    _shot: Callable[[int], Shot]
    _aside: Callable[[int, float], Shot]

    def __len__(self) -> int:
        return len(self.units)

    def shot(self, number: int) -> Shot:
        """Frame `number` without changes."""
        return self._shot(number)

    def sample(self, number: int, steps_m: tuple[float, ...]) -> TruthSample:
        """Return a frame with the views from `steps_m` metres to its right."""
        aside = {step: self._aside(number, step) for step in steps_m} if self.moves else {}
        return TruthSample(number, self.shot(number), aside)


def draw_samples(count: int, seed: int) -> Samples:
    """Draw scenes, each a unit of its own."""

    def shot(number: int) -> Shot:
        scene = draw_scene(seed + number)
        return Shot(scene.rgb, Labels(scene.category, scene.instance))

    def nothing(number: int, step_m: float) -> Shot:
        raise UsageError("a synthetic scene is seen from one place only")

    units = tuple(f"scene {seed + number}" for number in range(count))
    return Samples(f"{count} synthetic scenes", units, True, False, False, shot, nothing)


def village_samples(count: int, seed: int) -> Samples:
    """Views of embedded villages, each of another village, from a loop start of LoopNav in a random direction."""
    camera = Camera.from_vertical_fov(*VILLAGE_SIZE, VERTICAL_FOV_DEG)

    def view(number: int, step_m: float) -> Shot:
        village = WorldFacts("voxel", {"kind": KINDS[number % len(KINDS)], "seed": seed + number})
        world = open_world(village)
        assert isinstance(world, Voxel)
        site, rng = VoxelSite(world.voxels), np.random.default_rng(seed + number)
        x, y, z = site.first_place(site.begin(), rng, "released")
        pose = pose_from_yaw_pitch([x + 0.5, y + 0.5, z + EYE_HEIGHT_M], rng.uniform(-np.pi, np.pi), 0.0)
        return _rendered(village, pose, camera, step_m)

    units = tuple(f"village {seed + number}" for number in range(count))
    title = f"{count} views of embedded villages, {VILLAGE_SIZE[0]}x{VILLAGE_SIZE[1]}"
    return Samples(title, units, True, True, True, lambda number: view(number, 0.0), view)


def read_samples(source: Path, count: int) -> Samples:
    """Frames of a LoopNav folder, equally many from the first valid recording of each village. A known world is
    rendered again, without compression losses; otherwise the file is read."""
    first: dict[str, loopnav.LoopTrajectory] = {}
    for trajectory in sorted(loopnav.discover(source), key=lambda t: t.id):
        if not trajectory.invalid:
            first.setdefault(trajectory.location, trajectory)
    if not first:
        raise DataError(f"{source}: no valid recording; collect some or leave the folder out")
    worlds = worlds_of(source)
    episodes = [loopnav.load(each, worlds.get(place)) for place, each in first.items()]
    if len({(e.clip.width, e.clip.height, e.world is None) for e in episodes}) > 1:
        raise DataError(f"{source}: the recordings differ in the size of their frames, or some lack their world")
    each = max(1, round(count / len(episodes)))
    places = [(e, int(i)) for e in episodes for i in np.linspace(0, len(e) - 1, min(each, len(e))).round()]
    units = tuple(episode.id for episode, _ in places)
    size = f"{episodes[0].clip.width}x{episodes[0].clip.height}"
    title = f"{len(places)} frames of {len(episodes)} recordings in {source.name}, {size}"
    if episodes[0].world is None:
        shots = [_filmed(*place) for place in places]
        return Samples(title, units, False, True, False, shots.__getitem__, lambda number, step_m: shots[number])
    return Samples(
        title,
        units,
        True,
        True,
        True,
        lambda number: _recorded(*places[number], 0.0),
        lambda number, step_m: _recorded(*places[number], step_m),
    )


def _recorded(episode: Episode, index: int, step_m: float) -> Shot:
    assert episode.world is not None
    return _rendered(episode.world, episode.poses[index], episode.camera, step_m)


def _rendered(world: WorldFacts, pose: FloatArray, camera: Camera, step_m: float) -> Shot:
    """What a camera sees from so far to the right."""
    aside = pose.copy()
    aside[:3, 3] += step_m * aside[:3, 0]
    view = open_world(world).view(aside, camera)
    found = ExactSegmenter().segment(view.rgb, view)
    return Shot(view.rgb, Labels(found.category, found.instance))


def _filmed(episode: Episode, index: int) -> Shot:
    rgb = episode.clip[index]
    found = Colour().segment(rgb)
    return Shot(rgb, Labels(found.category, found.instance))
