"""Collecting episodes of recognition in homes and scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.engine.options import option
from worldgauge.suites.closedloop.format.coordinates import as_stored
from worldgauge.suites.closedloop.recognition.episodes import (
    CLARITY,
    HomeTargets,
    ScanTargets,
    Targets,
    Wish,
    recognitions,
)
from worldgauge.suites.closedloop.recognition.format import RecognitionEpisode, RecognitionFormat, write_recognition
from worldgauge.suites.closedloop.sampling.contract import MOST_EPISODES, EpisodeFacts, Share
from worldgauge.suites.closedloop.sampling.home import HomeSampler, HomeSearch, HomeShare, by_number
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.indoor.splits import SPLITS
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.walking.stance import Stance


@dataclass(frozen=True)
class RecognitionOptions:
    """Options of a collection."""

    recognition: int = option(
        RecognitionFormat.published, "Episodes of recognition: what is in the red box?", low=0, high=MOST_EPISODES
    )


class RecognitionSampler(HomeSampler):
    """Collects them; ids are plain numbers, as their published files must have."""

    kind, Options, id_form, in_scans = "recognition", RecognitionOptions, "{}", True

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """Targets that are badly seen, with starts from where they would soon be seen well."""
        rng = search.share.rng(self.kind)
        world = search.world
        targets: Targets = (
            ScanTargets(world, search.ground) if isinstance(world, Scan) else HomeTargets(search.home, search.geodesic)
        )
        for one in recognitions(targets, rng, wishes(search.share), search.discards):
            search.discards.update(one.discards)
            yield {
                "difficulty": one.difficulty,
                "target": one.target,
                "category": one.category,
                "start": as_stored(one.start).plain,
                "sight": one.sight._asdict(),
                "steps": [int(step) for step in one.steps],
                "good": one.good._asdict(),
            }

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_recognition`."""
        write_recognition(
            out,
            [
                RecognitionEpisode(
                    id=self.id_of(facts),
                    scene=share.scene,
                    difficulty=facts["difficulty"],
                    target=facts["target"],
                    category=facts["category"],
                    start=Stance(*facts["start"]),
                )
                for share, facts in by_number(found)
            ],
        )


def wishes(share: HomeShare) -> Iterator[Wish]:
    """Labels and difficulties of a home's episodes: all labels once in every 27 episodes."""
    for turn, number in enumerate(share.numbers(RecognitionSampler.kind)):
        round_, at = divmod(number, len(LABELS))
        order = np.random.default_rng([share.seed, SPLITS.index(share.split), round_]).permutation(len(LABELS))
        # The turn is added so that a home has all difficulties, whatever the number of homes.
        yield Wish(LABELS[int(order[at])], (number + turn) % len(CLARITY))
