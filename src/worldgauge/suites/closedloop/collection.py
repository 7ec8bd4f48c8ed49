"""Collecting episodes of the closed loop: recognition, image-goal navigation, questions in homes, trials at a table.

One item is one home, or one table task. All its randomness comes from (seed, split, home or task, kind). It is
done when its file lies in the folder `parts`, which is written last; the published files are made from all parts at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.engine.collection.collection import Collection, Item, Made, Tell, collections
from worldgauge.engine.collection.kernel import SEEDS
from worldgauge.engine.collection.report import DataReport
from worldgauge.engine.options import option
from worldgauge.suites.closedloop.episodes.home import find_episodes
from worldgauge.suites.closedloop.episodes.parts import found_in, publish, read_part, write_part
from worldgauge.suites.closedloop.episodes.plan import SCENES, TableShare, all_shares
from worldgauge.suites.closedloop.episodes.table import find_trials
from worldgauge.suites.closedloop.format import check as checking
from worldgauge.suites.closedloop.format.check import PUBLISHED
from worldgauge.suites.closedloop.format.episode import KINDS
from worldgauge.suites.closedloop.format.load import MANIFEST_FORMAT

# What the suite's agents and models are trained on is collected, too: importing registers it.
from worldgauge.suites.closedloop.training_data.coverage import collection as _coverage  # noqa: F401
from worldgauge.suites.closedloop.training_data.demonstrations import collection as _demonstrations  # noqa: F401
from worldgauge.worlds.indoor.splits import SPLITS
from worldgauge.worlds.tabletop.world import check_engine
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M

PANORAMA = (1024, 576)
"""Width and height of a goal image (specification, section 4)."""

_MAX_SCENES, _MAX_COUNT = 1000, 20_000


@dataclass(frozen=True)
class EpisodeOptions:
    """What a collection of closed-loop episodes holds."""

    scenes: int = option(SCENES, "Homes, over which episodes are spread evenly.", low=1, high=_MAX_SCENES)
    recognition: int = option(PUBLISHED["recognition"], "Episodes: what is in the red box?", low=0, high=_MAX_COUNT)
    navigation: int = option(
        PUBLISHED["navigation"], "Episodes: go to where this picture was taken.", low=0, high=_MAX_COUNT
    )
    questions: int = option(PUBLISHED["questions"], "Episodes: walk about and answer.", low=0, high=_MAX_COUNT)
    manipulation: int = option(
        PUBLISHED["manipulation"], "Trials with an arm at a table (extra manipulation).", low=0, high=_MAX_COUNT
    )
    split: str = option("test", 'Which homes: "train", "val" or "test", which share none.', choices=SPLITS)
    seed: int = option(42, "Same seed, same bytes.", low=0, high=SEEDS - 1)
    size: tuple[int, int] = option(PANORAMA, "Width and height of a goal panorama in pixels.", low=16, high=8192)


@collections.register("closedloop")
class EpisodeCollection(Collection):
    """Tasks of an agent, in World-in-World's schemas: recognition, navigation, questions in homes, manipulation.

    More episodes can be added to a collection; those that are there keep their names and stay as they are.
    """

    name = MANIFEST_FORMAT
    items_noun = "episodes"
    Options = EpisodeOptions
    fixed = ("seed", "split", "scenes", "size")
    growing = KINDS
    settings_first = True
    options: EpisodeOptions

    def check_options(self) -> None:
        """Check that at least one kind of episode is to be collected.

        Raises:
            UsageError: When all counts are 0.
        """
        if not any(self.settings()[kind] for kind in KINDS):
            raise UsageError(f"{' and '.join(KINDS)} are all 0: give a number for at least one of them")

    def camera(self) -> Mapping[str, Any]:
        """Height of the eyes, and what a goal image is."""
        goal_image = {"projection": "equirectangular", "size": list(self.options.size)}
        return {"height_m": EYE_HEIGHT_M, "goal_image": goal_image}

    def begin(self, *, local: bool) -> None:
        """Check that the physics engine is here if there are trials at a table."""
        if self.options.manipulation:
            check_engine("leave it out with --manipulation 0")

    def items(self) -> Iterator[Item]:
        """One item per home, then one per table task."""
        for share in all_shares(self.settings()):
            yield Item(share.scene, place=share.scene)

    def expected(self) -> int:
        """Episodes of all kinds."""
        return sum(self.settings()[kind] for kind in KINDS)

    def done(self) -> int:
        """Episodes of the parts that are in place."""
        found = (read_part(self.out, share) for share in all_shares(self.settings()))
        return sum(found_in(part) for part in found if part is not None)

    def is_done(self, item: Item) -> bool:
        """Whether its part is in place, with as many episodes as are asked for."""
        return read_part(self.out, self._share_of(item)) is not None

    def count_of(self, made: Made) -> int:
        """Episodes of a home or table task, also where fewer were found than asked for."""
        return int(made.facts.get("episodes", 0))

    def make(self, item: Item, progress: Tell) -> Made:
        """All episodes of one home, or all trials of one table task."""
        share = self._share_of(item)
        part = read_part(self.out, share)
        if part is None:
            if isinstance(share, TableShare):
                part = find_trials(share, progress)
            else:
                part = find_episodes(self.out, share, self.options.size, progress)
            write_part(self.out, share, part)
        return Made(
            frames=len(part["episodes"].get("navigation", ())),
            world=WorldFacts(**part["world"]) if "world" in part else None,
            worlds={name: WorldFacts(**facts) for name, facts in part.get("worlds", {}).items()},
            discards=[reason for reason, times in part["discards"].items() for _ in range(times)],
            failure=part.get("failure"),
            facts={"episodes": found_in(part)},
        )

    def finish(self, made: Mapping[str, Made]) -> None:
        """Make the published files from all parts."""
        publish(self.out, self.settings())

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Counts by kind next to the published ones."""
        return checking.check(root, decode=decode).report()

    def _share_of(self, item: Item) -> Any:
        return next(share for share in all_shares(self.settings()) if share.scene == item.id)
