"""Collecting MIND data in embedded worlds, in the published layout: clips, start images, paths, captions.

One item is one clip or one start image. All its randomness comes from (seed, part, perspective, number). A clip
is done when its folder and its caption are in place, a start image when it and its side-car are.

Names do not depend on how many are asked for. With the published counts they are the published ones: numbers 0-24 for
scenes of the action space test, 25-74 for the memory test, 75-124 for training, third person 125 more; what does not
fit into a block continues 250 further up. Start images are counted from 0 (third person from 125).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import write_file
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
from worldgauge.engine.options import option, plain
from worldgauge.suites.mind.actions import Perspective, space_of
from worldgauge.suites.mind.format import files
from worldgauge.suites.mind.format.check import check as check_folder
from worldgauge.suites.mind.format.files import Part
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG
from worldgauge.suites.mind.format.write import stored_poses, write_clip, write_mirror_actions, write_mirror_start
from worldgauge.suites.mind.key_walks import KeyWalkFailedError, find_mirror_start, record_key_walk
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import captions_along
from worldgauge.worlds.doom.engine import DOOM, LEVELS, Engine, find_engine
from worldgauge.worlds.scan.sources import SCENES_HELP, scan_scenes, told_of
from worldgauge.worlds.voxel.world import FAMILIES
from worldgauge.worlds.walking.floor import Walkable

SPACES = ((0.4, 100.0), (0.7, 150.0), (1.0, 200.0), (1.2, 240.0), (1.4, 280.0))
"""Degrees per frame and centimetres per second of the action space test, in turn.

The fourth is ours (the paper names the others).
"""
COUNTS: Mapping[str, Part] = {
    "train": "train",
    "mem": "mem_test",
    "action_space": "action_space_test",
    "mirror": "mirror_test",
}
"""Option that says how many of a part, for each perspective -> that part."""
WORLD_CELLS = (192, 192, 64)
WORLDS: Mapping[Perspective, str] = {"1st": "voxel", "3rd": "third-person"}
SCANNED = "interior"
"""Family of scans."""
PER_SCENE = 2
"""Clips of a part and perspective in one world of a family, of collections that name no other number."""

_BLOCKS: Mapping[Part, tuple[int, int]] = {
    "action_space_test": (0, 25),
    "mem_test": (25, 50),
    "train": (75, 50),
    "mirror_test": (0, 125),
}
"""First number of a part and how many there are before the numbers jump."""
_THIRD_PERSON, _JUMP = 125, 250


@dataclass(frozen=True)
class PlannedClip:
    """One clip or start image to make; `space` is degrees per frame and cm/s. Perspectives and tests share scenes."""

    part: Part
    perspective: Perspective
    name: str
    family: str
    scene: str
    world_seed: int
    entropy: tuple[int, ...]
    space: tuple[float, float]
    key: str = ""
    source: str = "scan"

    @property
    def id(self) -> str:
        """Such as "1st_data/mem_test/data-25"."""
        return f"{self.perspective}_data/{self.part}/{self.name}"

    @property
    def world(self) -> dict[str, Any]:
        """Name and arguments of its world, plain JSON values."""
        if self.key:
            return {"name": self.source, "params": {"level" if self.source == DOOM else "scene": self.key}}
        params = {"kind": self.family, "seed": self.world_seed, "size": list(WORLD_CELLS)}
        return {"name": WORLDS[self.perspective], "params": params}


def planned_clips(settings: Mapping[str, Any]) -> Iterator[PlannedClip]:
    """All clips of a collection, in order."""
    for count, part in COUNTS.items():
        for perspective in settings["perspectives"]:
            for index in range(settings[count]):
                clip = _clip_of(part, perspective, index, settings)
                if settings.get("scenes"):  # some scans, used in turn
                    in_training = part == "train" and settings.get("world") == DOOM
                    keys = LEVELS["train"] if in_training else settings["scenes"].split(",")
                    key = keys[clip.entropy[-1] % len(keys)]
                    scene = key.replace("/", "_").replace(":", "_")
                    clip = replace(clip, family=SCANNED, scene=scene, key=key, source=settings.get("world", "scan"))
                yield clip


def _clip_of(part: Part, perspective: Perspective, index: int, settings: Mapping[str, Any]) -> PlannedClip:
    families: Sequence[str] = settings["families"]
    seed, of = settings["seed"], settings["split"]
    space = files.SHARED_SPACE
    if part == "action_space_test":
        # The same place and the same dice for all five spaces: only what the keys do differs.
        index, turn = divmod(index, len(SPACES))
        space = SPACES[turn]
    first, room = _BLOCKS[part]
    jumps, at = divmod(index, room)
    number = _JUMP * jumps + _THIRD_PERSON * (perspective == "3rd") + first + at
    ending = f"-{space[0]:.1f}x-{space[1]:g}" if part == "action_space_test" else ""
    split = of
    if part == "train":
        split = "train" if of == "test" else f"{of}-train"
    turn, at = divmod(index, len(families))
    family, scene = families[at], turn // settings.get("per_scene", PER_SCENE)
    place = (scene * 2 + (part == "train")) * len(FAMILIES) + FAMILIES.index(family)
    parts = list(COUNTS.values())
    return PlannedClip(
        part=part,
        perspective=perspective,
        name=f"data-{number}{ending}",
        family=family,
        scene=f"{split}-{family}-{scene}",
        world_seed=world_seed_of(seed, place, of),
        entropy=(seed, parts.index(part), files.PERSPECTIVES.index(perspective), index),
        space=space,
    )


FRAMES = 720
_MAX_COUNT = 10_000


@dataclass(frozen=True)
class MindOptions:
    """What a collection of MIND data holds; the default counts are the published ones."""

    families: tuple[str, ...] = option(FAMILIES, "Kinds of scene, used in turn.", choices=FAMILIES)
    perspectives: tuple[str, ...] = option(
        files.PERSPECTIVES, "Perspectives: through the walker's eyes, over its shoulder.", choices=files.PERSPECTIVES
    )
    world: str | None = option(
        None, 'Collect in levels of a game, "doom", or your scans, "scan".', choices=(DOOM, "scan")
    )
    scenes: str | None = option(None, SCENES_HELP)
    train: int = option(50, "Training clips per perspective.", low=0, high=_MAX_COUNT)
    mem: int = option(50, "Record clips of the memory test, per perspective.", low=0, high=_MAX_COUNT)
    action_space: int = option(25, "Record clips in five action spaces, per perspective.", low=0, high=_MAX_COUNT)
    mirror: int = option(50, "Start images of the ten mirrored paths for each perspective.", low=0, high=_MAX_COUNT)
    per_scene: int = option(
        PER_SCENE, "Episodes per test, perspective and world. 1 gives most clusters.", low=1, high=_MAX_COUNT
    )
    frames: int = option(FRAMES, "Frames per episode, at 24 per second. A third is context.", low=6, high=20_000)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)
    size: tuple[int, int] = option((640, 360), "Width and height of a frame in pixels.", low=16, high=8192)
    split: str = option("test", 'Split of the worlds: "test", "train" or "val".', choices=SPLITS)


@collections.register("mind")
class MindCollection(Collection):
    """Walks driven by keys in eight kinds of scene, in MIND's layout."""

    name = "mind"
    items_noun = "clips and start images"
    Options = MindOptions
    fixed = ("seed", "size", "frames", "families", "split", "scenes", "per_scene")
    batched = True
    options: MindOptions
    _engine: Engine | None = None

    def check_options(self) -> None:
        """Check that something is to be collected, and in scans the scenes."""
        scan_scenes(self.options.world, self.options.scenes, self.options.split)
        if self.options.world is not None and "1st" not in self.options.perspectives:
            raise UsageError(f"a {self.options.world} is seen in first person: leave --perspectives out, or give 1st")
        if not any(getattr(self.options, name) for name in COUNTS):
            raise UsageError("train, mem, action_space and mirror are all 0: ask for at least one of them")

    def settings(self) -> dict[str, Any]:
        """The options; a default split or `per_scene` is not named, world and scenes only where they are scans."""
        given = without_test_split(super().settings())
        if given["per_scene"] == PER_SCENE:
            del given["per_scene"]
        if self.options.world == DOOM:  # its view stays level, and mirrored paths look up and down
            return {**given, "perspectives": ["1st"], "mirror": 0, "scenes": ",".join(LEVELS[self.options.split])}
        if self.options.world is not None:
            keys = scan_scenes(self.options.world, self.options.scenes, self.options.split)
            return {**given, "perspectives": ["1st"], "scenes": ",".join(keys), **told_of(keys)}
        del given["world"], given["scenes"]
        return given

    def camera(self) -> Mapping[str, Any]:
        """The field of view, which is that of the published data."""
        return {"horizontal_fov_deg": HORIZONTAL_FOV_DEG}

    def items(self) -> Iterator[Item]:
        """All items, one per clip or start image, part by part."""
        for clip in planned_clips({**plain(self.options), **self.settings()}):
            yield Item(clip.id, asdict(clip), f"{clip.perspective}-{clip.scene}")

    def clusters(self) -> Iterator[str]:
        """Worlds of the memory test, which gives the headline. Without it, of all test clips and start images."""
        planned = list(planned_clips({**plain(self.options), **self.settings()}))
        own = [clip.scene for clip in planned if clip.part == "mem_test"]
        return iter(own or [clip.scene for clip in planned if clip.part != "train"])

    def is_done(self, item: Item) -> bool:
        """Whether all files of an item are there; the folder of a clip is put in place in one step."""
        clip = PlannedClip(**item.args)
        folder = self.out / files.part_folder(clip.perspective, clip.part)
        needed = [self._sidecar(clip)]
        if clip.part == "mirror_test":
            needed.append(folder / f"{clip.name}.png")
        else:
            names = (files.ACTIONS, files.VIDEO, *([files.IMAGES] if clip.part != "train" else []))
            needed += [self._caption(clip), *(folder / clip.name / name for name in names)]
        return all(file.is_file() for file in needed)

    def begin(self, *, local: bool) -> None:
        """Write the files of the ten paths, which all start images of a perspective share."""
        if local and self.options.world == DOOM:
            find_engine(self.options.size)
        if self.settings()["mirror"]:
            for perspective in self.settings()["perspectives"]:
                write_mirror_actions(self.out, cast(Perspective, perspective))

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one item; one that is done already is only read."""
        clip = PlannedClip(**item.args)
        frames = 1 if clip.part == "mirror_test" else self.options.frames
        if self.is_done(item):
            car = files.read_sidecar(self._sidecar(clip))
            return Made(frames, car.world, discards=tuple(car.facts.get("discards", ())))
        world = self._open(clip)
        rng = np.random.default_rng(clip.entropy)
        try:
            if clip.part == "mirror_test":
                keys, shared = space_of(*clip.space), self._shared_facts(clip, world)
                pose = find_mirror_start(world, rng, space=keys, perspective=clip.perspective)
                image = next(render(world, pose[None], shared["camera"], progress, self.device))
                facts = {**_facts_of(clip), "captions": captions_along(world, pose[None], shared["camera"])}
                write_mirror_start(self.out, image=image, pose=pose, space=keys, facts=facts, **shared)
                return Made(frames, world.facts)
            return Made(frames, world.facts, discards=self._make_clip(clip, world, rng, progress))
        except WorldError as error:
            reasons = error.reasons if isinstance(error, KeyWalkFailedError) else ()
            return Made(world=world.facts, discards=tuple(reasons), failure=str(error))

    def _open(self, clip: PlannedClip) -> Walkable:
        """The world of a clip. An engine, which only the clips of its level use, does no more than they need."""
        if clip.source != DOOM or not clip.key:
            return cast(Walkable, open_world(WorldFacts(clip.world["name"], clip.world["params"])))
        if self._engine is None or self._engine.facts.params["level"] != clip.key:
            self.close()
            self._engine = Engine(clip.key, self.options.size)
        return cast(Walkable, self._engine)

    def close(self) -> None:
        """Stop the engine of the last level."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Check a folder: counts, speeds and turns of the clips, compared with what their keys say."""
        return check_folder(root, decode=decode)

    def _make_clip(
        self, clip: PlannedClip, world: Walkable, rng: np.random.Generator, progress: Tell
    ) -> tuple[str, ...]:
        """Record and write it; why tries before it were thrown away."""
        keys, shared, frames = space_of(*clip.space), self._shared_facts(clip, world), self.options.frames
        mark_time = frames // 3
        walk = record_key_walk(world, rng, frames=frames, mark_time=mark_time, space=keys, perspective=clip.perspective)
        poses = stored_poses(walk)
        captions = captions_along(world, poses, shared["camera"])
        facts = {**_facts_of(clip), "discards": list(walk.discards), "seen": walk.seen, "captions": captions}
        # The caption first: a folder that is there is complete.
        path = self._caption(clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, "".join(f"{text}\n" for _, text in captions[:1]))
        beside = None
        if isinstance(world, Engine):
            images, beside = world.frames(range(frames)), partial(world.write_truth, wanted=range(frames))
        else:
            images = render(world, poses, shared["camera"], progress, self.device)
        write_clip(
            self.out,
            part=clip.part,
            walk=walk,
            frames=images,
            mark_time=mark_time,
            facts=facts,
            beside=beside,
            **shared,
        )
        return tuple(walk.discards)

    def _shared_facts(self, clip: PlannedClip, world: Walkable) -> dict[str, Any]:
        """What is written of a clip and of a start image alike."""
        camera = Camera.from_horizontal_fov(*self.options.size, HORIZONTAL_FOV_DEG)
        if isinstance(world, Engine):
            camera = world.camera
        return {
            "perspective": clip.perspective,
            "name": clip.name,
            "world": world.facts,
            "camera": camera,
            "family": clip.family,
        }

    def _caption(self, clip: PlannedClip) -> Path:
        return self.out / "description" / f"{clip.name}.txt"

    def _sidecar(self, clip: PlannedClip) -> Path:
        folder = self.out / files.part_folder(clip.perspective, clip.part)
        return (
            folder / f"{clip.name}.{files.SIDECAR}"
            if clip.part == "mirror_test"
            else folder / clip.name / files.SIDECAR
        )


def _facts_of(clip: PlannedClip) -> dict[str, Any]:
    """Where a clip comes from, for its side-car."""
    return {"scene": clip.scene, "entropy": list(clip.entropy), "discards": []}
