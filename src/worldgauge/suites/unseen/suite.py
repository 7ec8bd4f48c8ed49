"""Unseen: does a thing go on by its law while the camera looks away?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of, digest_of_file
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import (
    DemoSet,
    Failure,
    Record,
    Score,
    Table,
    Task,
    TaskData,
    TaskDetails,
    cached_by_task,
)
from worldgauge.engine.suite.rollout import BridgeSettings
from worldgauge.suites.unseen import scoring, summary
from worldgauge.suites.unseen.format import SHOWN, read_episode, stem_id, stems_of


@suites.register("unseen")
class Unseen(Suite):
    """Watch a thing that moves by a law, look away, and look back: it should have gone on."""

    name = "unseen"
    version = 1
    Settings = BridgeSettings
    floor_baselines = ("render", "freeze", "noise")
    baselines = ("truth", "tiny", "memory", "hedge", "mean", "replay", *floor_baselines)
    default_baselines = ("tiny",)
    scores_pictures = True
    claim = "lets things go on while they are out of view"
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "episode",
        "tasks": "episodes",
        "headline": "share that went on",
        "lacks": "cannot let a thing go on",
        "seen": "watched",
        "asked": "looking away and back",
        "read": "What the thing has done",
    }
    metrics = frozenset(scoring.METRICS)

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet:
        """See `Suite.demo_set`."""
        place, question = 6, "Does a thing go on while the camera looks away?"
        models = ("degraded?level=0.3", *cls.floor_baselines)
        if full:
            options = {"homes": 12, "size": (256, 144)}
            return DemoSet(place, question, options, ("truth", *models, "memory", "tiny"), models[0], core_seconds=600)
        # Eight homes are enough for a test; each has one thing.
        options = {"homes": 8, "things": ("cart",), "away": (2,), "size": (96, 54)}
        return DemoSet(place, question, options, models, models[0], core_seconds=20, megabytes=40)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One per episode."""
        stems = stems_of(source)
        if not stems:
            raise DataError(f"{source}: holds no episodes; collect them with: worldgauge collect unseen --out {source}")
        for stem in stems:
            home, process, away = stem.parts[-3:]
            group = {"task": process, "away": f"{int(away.removeprefix('away-'))} s", "location": home}
            yield Task("unseen", stem_id(stem), {"source": str(stem.parents[2])}, fingerprint_of(stem), group)

    def cluster_of(self, task: str, group: Mapping[str, Any]) -> str:
        """The home."""
        return str(group.get("location", task))

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording, and its first hidden frame: that in which the camera begins to turn."""
        return _episode(task, stem=_stems(task)), SHOWN

    def compare(self, record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
        """Read what the last frames show, and whether the model looked away."""
        return scoring.scores(record, episode, truth, rollout)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """What the thing has done: by process, by outcome, by time away, and what lies beside it."""
        return summary.summarize(scores, kinds, failed)

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails:
        """What each model shows at the end."""
        return summary.task_details(scores, self.episode(task)[0].facts["caption"])


def fingerprint_of(stem: Path) -> str:
    """Digest of the files of an episode."""
    return digest_of(digest_of_file(stem.with_suffix(".json")) + digest_of_file(stem.with_suffix(".mp4")))


_stems = TaskData(
    lambda source, id: {stem_id(stem): stem for stem in stems_of(source) if stem_id(stem) == id}, fingerprint_of
)


@cached_by_task(maxsize=8)
def _episode(task: Task, *, stem: Path) -> Episode:
    return read_episode(stem)
