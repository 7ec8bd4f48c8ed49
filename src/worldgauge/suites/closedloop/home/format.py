"""What the formats of tasks share in which an agent walks through a home."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from worldgauge.core.episode import WorldFacts
from worldgauge.suites.closedloop.format.contract import EpisodeFormat
from worldgauge.suites.closedloop.format.episode import HomeEpisode
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.stance import Stance, stands

HomeEpisodeT = TypeVar("HomeEpisodeT", bound=HomeEpisode)


class HomeFormat(EpisodeFormat[HomeEpisodeT]):
    """The files of a task of a walker."""

    def places(self, episode: HomeEpisodeT) -> Mapping[str, Stance]:
        """Where somebody must be able to stand, by name."""
        return {"start": episode.start}

    def check_in_world(self, episode: HomeEpisodeT, world: WorldFacts) -> Iterator[str]:
        """Places where nobody can stand."""
        floor = getattr(open_world(world), "floor", None)
        if not isinstance(floor, FloorPlan):
            return
        for name, stance in self.places(episode).items():
            if not stands(floor.clearance_at([[stance.x, stance.y]]))[0]:
                yield f"the {name} at ({stance.x:.2f}, {stance.y:.2f}) is no place to stand"
