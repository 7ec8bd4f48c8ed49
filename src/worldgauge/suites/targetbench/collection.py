"""Collecting Target-Bench scenarios in embedded worlds, in the published layout: settlements outdoors, homes indoors.

One item is one scenario. All its randomness comes from (seed, scene, number in the scene). A scenario is
done when its folder is in place, which happens in one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.engine.collect import SEEDS, render, world_seed_of
from worldgauge.engine.collection import (
    SPLITS,
    Collection,
    DataReport,
    Item,
    Made,
    Tell,
    collections,
    without_test_split,
)
from worldgauge.engine.options import option
from worldgauge.suites.targetbench import walks
from worldgauge.suites.targetbench.format.check import check as check_folder
from worldgauge.suites.targetbench.format.read import LABELS_FILE, load_labels
from worldgauge.suites.targetbench.format.scenario import Label
from worldgauge.suites.targetbench.format.write import scenario_name, write_labels, write_scenario
from worldgauge.suites.targetbench.walks import Surroundings
from worldgauge.worlds import worlds
from worldgauge.worlds.captions import captions_along
from worldgauge.worlds.scan.sources import WORLD_HELP, scan_facts, scan_scenes, told_of
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.floor import Walkable

PLACES: tuple[Surroundings, ...] = ("outdoors", "indoors")
SCENES, PER_SCENE = 25, 5
"""125 scenarios, as many as the published benchmark has."""
HORIZONTAL_FOV_DEG = 80.0
SHOWN = 20
"""Categories that a line names."""

_EVERYWHERE = {"curtain", "door", "window"}
"""Seen from so many places that, tried early, they would be every second target of a home; they are tried last."""


@dataclass(frozen=True)
class TargetOptions:
    """What a collection of Target-Bench scenarios holds."""

    world: str | None = option(None, WORLD_HELP, choices=("scan",))
    scenes: int | str = option(
        SCENES, "Number of scenes; or scan folders or keys, separated by commas.", low=1, high=1000
    )
    per_scene: int = option(PER_SCENE, "Scenarios for each scene.", low=1, high=100)
    places: tuple[str, ...] = option(PLACES, "Kinds of scene, used in turn.", choices=PLACES)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)
    size: tuple[int, int] = option((640, 360), "Width and height of a frame in pixels, both even.", low=16, high=8192)
    fov_deg: float = option(HORIZONTAL_FOV_DEG, "Horizontal field of view in degrees.", low=20, high=150)
    fps: int = option(walks.FPS, "Frames, and rows of the path, a second.", low=1, high=60)
    split: str = option("test", 'Split of the scenes: "test", "train" or "val".', choices=SPLITS)


@collections.register("targetbench")
class TargetCollection(Collection):
    """Walks to named things, in Target-Bench's layout."""

    name = "targetbench"
    manifest_format = "target"
    items_noun = "scenarios"
    Options = TargetOptions
    fixed = ("seed", "size", "fov_deg", "fps", "places", "split", "keys")
    batched = True
    options: TargetOptions

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """Keys of the scans that are walked in; none elsewhere."""
        return scan_scenes(self.options.world, self.options.scenes, self.options.split)

    def check_options(self) -> None:
        """Check the size of frames, since the video format has no odd sizes, and the scenes."""
        scan_scenes(self.options.world, self.options.scenes, self.options.split)
        if any(side % 2 for side in self.options.size):
            raise UsageError(f"size is {self.options.size}: give even width and height, 16 to 8192 pixels")

    def settings(self) -> dict[str, Any]:
        """The options, with the field of view as a float; the split is named only where it is not "test"."""
        given = without_test_split({**super().settings(), "fov_deg": float(self.options.fov_deg)})
        if self.options.world is not None:
            return {**given, "scenes": len(self._keys), "keys": ",".join(self._keys), **told_of(self._keys)}
        del given["world"]
        return given

    def camera(self) -> Mapping[str, Any]:
        """Field of view, and the heights it is carried at."""
        return {"horizontal_fov_deg": float(self.options.fov_deg), "heights_m": walks.CAMERA_HEIGHTS_M}

    def items(self) -> Iterator[Item]:
        """All items, one per scenario, scene by scene."""
        rows = (walks.HISTORY_S + walks.FUTURE_S) * self.options.fps
        for scene, (place, world) in enumerate(self._places()):
            for number in range(self.options.per_scene):
                name = scenario_name(f"sample_{scene:03d}", number * rows, (number + 1) * rows - 1)
                args = {"place": place, "world": world, "entropy": [self.options.seed, scene, number]}
                yield Item(name, args, f"sample_{scene:03d}")

    def _places(self) -> Iterator[tuple[Surroundings, dict[str, Any]]]:
        """What surrounds the walker in each scene, and its world."""
        if self.options.world is not None:
            yield from (("indoors", {"name": "scan", "params": scan_facts(key).params}) for key in self._keys)
            return
        places = self.options.places
        for scene in range(int(self.options.scenes)):
            place = cast(Surroundings, places[scene % len(places)])
            seed = world_seed_of(self.options.seed, scene, self.options.split)
            kind = KINDS[scene // len(places) % len(KINDS)]
            outdoors = {"name": "voxel", "params": {"kind": kind, "seed": seed}}
            yield place, outdoors if place == "outdoors" else {"name": "indoor", "params": {"seed": seed}}

    def is_done(self, item: Item) -> bool:
        """Whether the scenario's folder is there; it is put in place in one step."""
        return (self.out / item.id).is_dir()

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one scenario. What is on disk already is walked again (cheap) but not rendered again."""
        world, entropy = item.args["world"], item.args["entropy"]
        here = _open(world["name"], tuple(sorted(world["params"].items())))
        camera = Camera.from_horizontal_fov(*self.options.size, self.options.fov_deg)
        seed, scene, number = entropy
        rng = np.random.default_rng(entropy)
        left_out = {"left_out": sorted({landmark.category for landmark in here.landmarks}.difference(walks.IMPLICIT))}
        try:
            order = _categories(here, [seed, scene], number)
            walk = walks.record_target_walk(
                here, rng, place=item.args["place"], categories=order, camera=camera, fps=self.options.fps
            )
        except walks.TargetWalkFailedError as error:
            return Made(world=here.facts, discards=tuple(error.reasons), failure=str(error), facts=left_out)
        if not self.is_done(item):
            frames = render(here, walk.poses, camera, progress, self.device)
            split = "benchmark" if self.options.split == "test" else self.options.split
            captions = captions_along(here, walk.poses, camera)
            write_scenario(
                self.out,
                item.id,
                walk,
                frames,
                world=here.facts,
                camera=camera,
                scene=item.place,
                captions=captions,
                split=split,
            )
        return Made(len(walk), here.facts, discards=tuple(walk.discards), facts={"label": walk.label, **left_out})

    def finish(self, made: Mapping[str, Made]) -> None:
        """Write the labels of all scenarios that are there: which targets are named explicitly."""
        path = self.out / LABELS_FILE
        labels: dict[str, Label] = load_labels(path) if path.exists() else {}
        labels |= {name: one.facts["label"] for name, one in made.items() if "label" in one.facts}
        write_labels(self.out, labels)

    def notes(self, made: Mapping[str, Made]) -> Sequence[str]:
        """Which categories were no targets."""
        names = sorted({name for one in made.values() for name in one.facts.get("left_out", ())})
        if not names:
            return ()
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return (f"categories without a wording, which are no targets: {', '.join(names[:SHOWN])}{more}",)

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Check a folder: counts, lengths and horizons next to the published ones."""
        return check_folder(root, decode=decode)


def _categories(world: Walkable, entropy: list[int], number: int) -> list[str]:
    """Categories that can be targets, in the order in which a scenario tries them; each of a scene begins elsewhere."""
    known = walks.targets_among(landmark.category for landmark in world.landmarks)
    if not known:
        return []
    first = known[np.random.default_rng(entropy).permutation(len(known))[number % len(known)]]
    others = np.random.default_rng([*entropy, number]).permutation(len(known))
    rest = [known[n] for n in others if known[n] != first]
    return [first, *sorted(rest, key=lambda category: category in _EVERYWHERE)]


@lru_cache(maxsize=1)
def _open(name: str, params: tuple[tuple[str, Any], ...]) -> Walkable:
    return cast(Walkable, worlds.get(name)(**dict(params)))
