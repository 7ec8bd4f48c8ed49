"""Finding all episodes of one home, and taking their pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

from worldgauge.core.geometry import Panorama
from worldgauge.core.image import png
from worldgauge.core.io import write_file
from worldgauge.engine.collection.kernel import plain_facts
from worldgauge.suites.closedloop.episodes.parts import goal_path
from worldgauge.suites.closedloop.episodes.plan import HomeShare, episode_id
from worldgauge.suites.closedloop.format.coordinates import as_stored
from worldgauge.suites.closedloop.format.episode import AT_HOME, Kind
from worldgauge.suites.closedloop.navigation.episodes import navigations
from worldgauge.suites.closedloop.questions.generate.episodes import ask_questions
from worldgauge.suites.closedloop.recognition.episodes import recognitions
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.splits import world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.stance import Stance


def find_episodes(
    out: Path, share: HomeShare, size: Sequence[int], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Find the episodes of one home, and write their goal images into `out`.

    Args:
        out: Folder of the collection.
        share: What to find.
        size: Width and height of a goal image in pixels.
        progress: Called with episodes found, and of how many.

    Returns:
        Plain JSON values for `write_part`.
    """
    world = open_world(world_of(share.scene))
    finder = _Finder(out, share, cast(Home, world), Panorama(*size), progress)
    rows = {kind: list(finder.rows(kind)) for kind in AT_HOME}
    short = [
        f"{len(rows[kind])} of {share.counts[kind]} {kind}" for kind in AT_HOME if len(rows[kind]) < share.counts[kind]
    ]
    return {
        "world": plain_facts(world.facts),
        "asked": dict(share.counts),
        "episodes": rows,
        "discards": dict(sorted(finder.discards.items())),
        "failure": f"only {', '.join(short)} found" if short else None,
    }


class _Finder:
    """Finds the episodes of one home and takes their pictures."""

    def __init__(
        self, out: Path, share: HomeShare, home: Home, panorama: Panorama, progress: Callable[[int, int], None]
    ) -> None:
        self._out, self._share, self._home, self._panorama = out, share, home, panorama
        self._geodesic = Geodesic(home.floor)
        self._progress = progress
        self._done = count(1)
        self.discards: Counter[str] = Counter()

    def rows(self, kind: Kind) -> Iterator[dict[str, Any]]:
        """The episodes of a kind, plain JSON values; fewer where no more were found."""
        if not self._share.counts[kind]:
            return
        find = {"recognition": self._recognition, "navigation": self._navigation, "questions": self._questions}[kind]
        # An end of `find` before that of the numbers is reported by the caller.
        for number, row in zip(self._share.numbers(kind), find(), strict=False):
            if kind == "navigation":
                self._photograph(episode_id(kind, number), Stance(*row["goal"]))
            yield {"number": number, **row}
            self._progress(next(self._done), sum(self._share.counts.values()))

    def _recognition(self) -> Iterator[dict[str, Any]]:
        rng = self._share.rng("recognition")
        for one in recognitions(self._home, self._geodesic, rng, self._share.wishes()):
            self.discards.update(one.discards)
            yield {
                "difficulty": one.difficulty,
                "target": one.target,
                "category": one.category,
                "start": list(as_stored(one.start)),
                "sight": one.sight._asdict(),
                "steps": [int(step) for step in one.steps],
                "good": one.good._asdict(),
            }

    def _navigation(self) -> Iterator[dict[str, Any]]:
        rng = self._share.rng("navigation")
        for one in navigations(self._home, self._geodesic, rng, self._share.bands()):
            self.discards.update(one.discards)
            yield {
                "start": list(as_stored(one.start)),
                "goal": list(as_stored(one.goal)),
                "steps": [int(step) for step in one.steps],
                "distance_m": one.distance_m,
            }

    def _questions(self) -> Iterator[dict[str, Any]]:
        rng = self._share.rng("questions")
        for one in ask_questions(self._home, self._geodesic, rng, self._share.counts["questions"]):
            yield {
                "question": one.question,
                "answer": one.answer,
                "extra_answers": list(one.extra),
                "category": one.category,
                "form": one.form,
                "start": list(as_stored(one.start)),
                "hfov_deg": one.hfov_deg,
                "reference_m": one.reference_m,
                "blind_answer": one.blind,
                "evidence": list(one.evidence),
            }

    def _photograph(self, id: str, goal: Stance) -> None:
        rgb = self._home.view(goal.eye(), self._panorama).rgb
        write_file(goal_path(self._out, self._share.scene, id), png(rgb))
