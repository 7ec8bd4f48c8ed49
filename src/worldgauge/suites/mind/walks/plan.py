"""Which clips and start images a MIND collection holds, how they are named, and where each is made.

Names do not depend on how many are asked for. With the published counts they are the published ones: numbers 0-24 for
scenes of the action space test, 25-74 for the memory test, 75-124 for training, third person 125 more; what does not
fit into a block continues 250 further up. Start images are counted from 0 (third person from 125).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from worldgauge.engine.collect import world_seed_of
from worldgauge.suites.mind.format import PERSPECTIVES, Part, Perspective
from worldgauge.suites.mind.format.layout import SHARED_SPACE
from worldgauge.worlds.voxel.world import FAMILIES

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
"""Family of scans, for captions."""
PER_SCENE = 2
"""Clips of a part and perspective that are made in one world of a family before the next."""

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
    """One clip or start image to be made.

    Attributes:
        part: Part of the data.
        perspective: First or third person.
        name: Its name.
        family: Family of its world.
        scene: Name of its world, such as "test-urban-0"; both perspectives and all tests share it, training has others.
        world_seed: Seed of that world.
        entropy: Seed of the walk.
        space: Degrees a frame and centimetres a second.
        key: Key of the scan that is its world; empty elsewhere.
    """

    part: Part
    perspective: Perspective
    name: str
    family: str
    scene: str
    world_seed: int
    entropy: tuple[int, ...]
    space: tuple[float, float]
    key: str = ""

    @property
    def id(self) -> str:
        """Such as "1st_data/mem_test/data-25"."""
        return f"{self.perspective}_data/{self.part}/{self.name}"

    @property
    def world(self) -> dict[str, Any]:
        """Name and arguments of its world, plain JSON values."""
        if self.key:
            return {"name": "scan", "params": {"scene": self.key}}
        params = {"kind": self.family, "seed": self.world_seed, "size": list(WORLD_CELLS)}
        return {"name": WORLDS[self.perspective], "params": params}


def planned_clips(settings: Mapping[str, Any]) -> Iterator[PlannedClip]:
    """All clips of a collection, in order.

    Args:
        settings: "families", "perspectives", "seed", "split", and the counts by option; "scenes", keys of scans
            separated by commas, where it is in scans.
    """
    for option, part in COUNTS.items():
        for perspective in settings["perspectives"]:
            for index in range(settings[option]):
                clip = _clip_of(part, perspective, index, settings)
                keys = settings["scenes"].split(",") if settings.get("scenes") else []
                yield _in_scan(clip, keys) if keys else clip


def _clip_of(part: Part, perspective: Perspective, index: int, settings: Mapping[str, Any]) -> PlannedClip:
    families: Sequence[str] = settings["families"]
    seed, of = settings["seed"], settings["split"]
    space = SHARED_SPACE
    if part == "action_space_test":
        # The same place and the same dice for all five spaces: only what the keys do differs.
        index, turn = divmod(index, len(SPACES))
        space = SPACES[turn]
    number = _number(part, perspective, index)
    ending = f"-{space[0]:.1f}x-{space[1]:g}" if part == "action_space_test" else ""
    split = of
    if part == "train":
        split = "train" if of == "test" else f"{of}-train"
    turn, at = divmod(index, len(families))
    family, scene = families[at], turn // PER_SCENE
    place = (scene * 2 + (part == "train")) * len(FAMILIES) + FAMILIES.index(family)
    parts = list(COUNTS.values())
    return PlannedClip(
        part=part,
        perspective=perspective,
        name=f"data-{number}{ending}",
        family=family,
        scene=f"{split}-{family}-{scene}",
        world_seed=world_seed_of(seed, place, of),
        entropy=(seed, parts.index(part), PERSPECTIVES.index(perspective), index),
        space=space,
    )


def _in_scan(clip: PlannedClip, keys: Sequence[str]) -> PlannedClip:
    """The same clip in one of some scans, which are used in turn."""
    key = keys[clip.entropy[-1] % len(keys)]
    return replace(clip, family=SCANNED, scene=key.replace("/", "_"), key=key)


def _number(part: Part, perspective: Perspective, index: int) -> int:
    first, room = _BLOCKS[part]
    jumps, at = divmod(index, room)
    return _JUMP * jumps + _THIRD_PERSON * (perspective == "3rd") + first + at
