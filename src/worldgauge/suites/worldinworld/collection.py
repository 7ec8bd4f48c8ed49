"""Collecting episodes of the closed loop: recognition, image-goal navigation, questions in homes, trials at a table.

One item is one home, or one part of a task elsewhere. All its randomness comes from (seed, split, home, task). It is
done when its file lies in the folder `parts`, which is written last; the published files are made from all parts at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.engine.collect import SEEDS
from worldgauge.engine.collection import Collection, DataReport, Item, Made, Tell, collections
from worldgauge.engine.options import merged, option
from worldgauge.suites.worldinworld.format import check as checking
from worldgauge.suites.worldinworld.format.contract import Share
from worldgauge.suites.worldinworld.format.load import MANIFEST_FORMAT
from worldgauge.suites.worldinworld.sampling import (
    all_shares,
    episodes_in,
    pictures_in,
    publish,
    read_part,
    samplers,
    scan_samplers,
    write_part,
)
from worldgauge.suites.worldinworld.task import SUITE, task_names
from worldgauge.worlds.indoor.homes import SPLITS
from worldgauge.worlds.scan.sources import WORLD_HELP, scan_scenes, told_of
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M

PANORAMA = (1024, 576)
"""Width and height of a goal image."""
DESIGN = 2
"""Of the episodes in homes: goals of navigation are out of sight at the start."""


@dataclass(frozen=True)
class EpisodeOptions:
    """What a collection of closed-loop episodes holds, beside the options of each task (`EpisodeSampler.Options`)."""

    world: str | None = option(None, WORLD_HELP, choices=("scan",))
    scenes: int | str = option(60, "Number of homes; or scan folders or keys, separated by commas.", low=1, high=1000)
    split: str = option("test", 'Split of the homes: "train", "val" or "test".', choices=SPLITS)
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)
    from_released: str | None = option(
        None, "Collect World-in-World's released manipulation trials from this folder, nothing else."
    )
    size: tuple[int, int] = option(PANORAMA, "Width and height of a goal panorama in pixels.", low=16, high=8192)


_TASKS = task_names()


@collections.register("worldinworld")
class EpisodeCollection(Collection):
    """Recognition, navigation, questions and manipulation, in World-in-World's schemas.

    More episodes can be added to a collection; those that are there keep their names and stay as they are.
    """

    name = SUITE
    manifest_format = MANIFEST_FORMAT
    items_noun = "episodes"
    Options = merged(EpisodeOptions, *(one.Options for one in samplers()))
    fixed = (
        *("seed", "split", "scenes", "size", "design", "released"),
        *(field.name for one in samplers() for field in fields(one.Options) if field.name != one.kind),
    )
    growing = _TASKS
    settings_first = True
    options: EpisodeOptions

    def settings(self) -> dict[str, Any]:
        """The options; in homes the design of the episodes, elsewhere the world and the keys of its scenes."""
        given = super().settings()
        released = given.pop("from_released")
        if given["table"] is None:
            del given["table"]
        if self.options.world is None:
            del given["world"]
            given["design"] = DESIGN
            if released:
                for kind, (_, own) in self._release.items():
                    given[kind] = sum(sum(share.counts.values()) for share in own)
                given["released"] = "".join(digest for digest, _ in self._release.values())
            return given
        elsewhere = {one.kind: 0 for one in samplers() if one not in scan_samplers()}
        return {**given, **elsewhere, "scenes": ",".join(self._scenes), **told_of(self._scenes, ground=True)}

    def warnings(self) -> Sequence[str]:
        """Say what is not collected in scans."""
        if self.options.world is None:
            return super().warnings()
        given = super().settings()
        left = [one.kind for one in samplers() if one not in scan_samplers() and given[one.kind]]
        return [*super().warnings(), f"not collected in scans, but in homes: {', '.join(left)}"] if left else []

    def check_options(self) -> None:
        """Check that at least one task is to be collected."""
        scan_scenes(self.options.world, self.options.scenes, self.options.split)
        if self.options.world is not None and self.options.from_released:
            raise UsageError("released trials are laid out at the table: leave --world or --from-released out")
        if not any(self.settings()[name] for name in _TASKS):
            raise UsageError(f"{' and '.join(_TASKS)} are all 0: give a number for at least one of them")

    def camera(self) -> Mapping[str, Any]:
        """Height of the eyes, and what a goal image is."""
        goal_image = {"projection": "equirectangular", "size": list(self.options.size)}
        return {"height_m": EYE_HEIGHT_M, "goal_image": goal_image}

    def begin(self, *, local: bool) -> None:
        """Check that what the tasks need is installed."""
        for sampler in samplers():
            if self.settings()[sampler.kind]:
                sampler.check_installed()

    def items(self) -> Iterator[Item]:
        """One item per home, then one per part of a task elsewhere."""
        for share in self._shares:
            yield Item(share.scene, place=share.scene)

    def clusters(self) -> Iterator[str]:
        """Homes; each manipulation trial has its own table."""
        for share in self._shares:
            for kind, count in share.counts.items():
                yield from (share.scene if kind in _TASKS else f"{share.scene}-{number}" for number in range(count))

    def expected(self) -> int:
        """Episodes of all tasks."""
        return sum(self.settings()[name] for name in _TASKS)

    def done(self) -> int:
        """Episodes of the parts that are in place."""
        found = (read_part(self.out, share) for share in self._shares)
        return sum(episodes_in(part) for part in found if part is not None)

    def is_done(self, item: Item) -> bool:
        """Whether its part is in place, with as many episodes as are asked for."""
        return read_part(self.out, self._share_of(item)) is not None

    def count_of(self, made: Made) -> int:
        """Episodes of an item, also where fewer were found than asked for."""
        return int(made.facts.get("episodes", 0))

    def make(self, item: Item, progress: Tell) -> Made:
        """All episodes of one home, or of one part of a task elsewhere."""
        share = self._share_of(item)
        part = read_part(self.out, share)
        if part is None:
            part = share.find(self.out, self.settings(), progress)
            write_part(self.out, share, part)
        return Made(
            frames=pictures_in(part),
            world=WorldFacts(**part["world"]) if "world" in part else None,
            worlds={name: WorldFacts(**facts) for name, facts in part.get("worlds", {}).items()},
            discards=[reason for reason, times in part["discards"].items() for _ in range(times)],
            failure=part.get("failure"),
            facts={"episodes": episodes_in(part)},
        )

    def finish(self, made: Mapping[str, Made]) -> None:
        """Make the published files from all parts."""
        publish(self.out, self.settings(), self._shares)

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Counts by task next to the published ones."""
        return checking.check(root, decode=decode).report()

    @cached_property
    def _scenes(self) -> tuple[str, ...]:
        return scan_scenes(self.options.world, self.options.scenes, self.options.split)

    @cached_property
    def _release(self) -> dict[str, tuple[str, Sequence[Share]]]:
        root, given = Path(str(self.options.from_released)), super().settings()
        return {one.kind: one.release(root, given[one.kind]) for one in samplers()}

    @cached_property
    def _shares(self) -> list[Share]:
        released = [share for _, own in self._release.values() for share in own] if self.options.from_released else []
        return released or list(all_shares(self.settings()))

    def _share_of(self, item: Item) -> Share:
        return next(share for share in self._shares if share.scene == item.id)
