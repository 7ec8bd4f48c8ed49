"""Collecting episodes of image-goal navigation in homes, and their goal images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.image import decode_png, png
from worldgauge.core.io import write_file
from worldgauge.engine.options import option
from worldgauge.suites.closedloop.format.coordinates import as_stored
from worldgauge.suites.closedloop.format.files import bytes_of, members_of
from worldgauge.suites.closedloop.navigation.episodes import BANDS, GroundPlaces, HomePlaces, navigations
from worldgauge.suites.closedloop.navigation.format import (
    GOAL_RADIUS_M,
    NavigationEpisode,
    NavigationFormat,
    write_navigation,
)
from worldgauge.suites.closedloop.sampling.contract import MOST_EPISODES, EpisodeFacts, Share, part_folder
from worldgauge.suites.closedloop.sampling.home import HomeSampler, HomeSearch, HomeShare, by_number
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.stance import Stance


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
