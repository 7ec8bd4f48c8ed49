"""What the formats of tasks share in which an agent walks through a home."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

from worldgauge.core.episode import WorldFacts
from worldgauge.suites.closedloop.format.contract import EpisodeFormat
from worldgauge.suites.closedloop.format.episode import HomeEpisode
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.ground import ground_of
from worldgauge.worlds.walking.stance import Stance

HomeEpisodeT = TypeVar("HomeEpisodeT", bound=HomeEpisode)


class HomeFormat(EpisodeFormat[HomeEpisodeT]):
    """The files of a task of a walker."""

    def places(self, episode: HomeEpisodeT) -> Mapping[str, Stance]:
        """Where somebody must be able to stand, by name."""
        return {"start": episode.start}

    def check_in_world(self, episode: HomeEpisodeT, world: WorldFacts) -> Iterator[str]:
        """Places where nobody can stand."""
        built = open_world(world)
        if not isinstance(getattr(built, "floor", None), FloorPlan):
            return
        ground = ground_of(cast(Walkable, built))
        for name, stance in self.places(episode).items():
            if not ground.stands(stance.at):
                yield f"the {name} at ({stance.x:.2f}, {stance.y:.2f}) is no place to stand"
