"""Checks of closed-loop episodes: counts by kind, and findings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, WorldError, WorldgaugeError
from worldgauge.engine.collection.findings import Finding, Spread, grouped, spread
from worldgauge.engine.collection.report import DataReport, DataTable, mean_text
from worldgauge.suites.closedloop.format.episode import (
    KINDS,
    ClosedLoop,
    Episode,
    HomeEpisode,
    ManipulationEpisode,
    NavigationEpisode,
)
from worldgauge.suites.closedloop.format.files import goal_image, image_size
from worldgauge.suites.closedloop.format.load import load, scene_missing
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.primitives import STEP_M
from worldgauge.worlds.walking.stance import Stance, stands

PUBLISHED = {"recognition": 551, "navigation": 144, "questions": 184, "manipulation": 200}
"""Episodes of the published benchmark (paper, appendix B)."""
QUESTION_CATEGORIES = (
    "object localization",
    "attribute recognition",
    "world knowledge",
    "object state recognition",
    "object recognition",
    "spatial understanding",
    "functional reasoning",
)
_SLACK_M = 0.01
_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class KindStatistics:
    """The episodes of one kind; means are over usable ones.

    Attributes:
        kind: The kind.
        episodes: Number found, usable or not.
        published: Number in the benchmark.
        usable: Number without a fault.
        scenes: Scenes of the usable ones.
        known: Scenes of those that have a world.
        straight_m: Metres from the start to the goal, in a straight line.
        steps: Steps of the reference path; for manipulation, poses of the expert.
        reference_m: Metres that exploring for an answer should take.
    """

    kind: str
    episodes: int
    published: int
    usable: int
    scenes: int
    known: int
    straight_m: Spread | None
    steps: Spread | None
    reference_m: Spread | None


@dataclass(frozen=True)
class EpisodeStatistics:
    """What `check` found.

    Attributes:
        n_episodes: Episodes in the files.
        n_valid: Usable ones.
        n_frames: Goal images.
        difficulties: Usable recognition episodes by difficulty.
        labels: Usable recognition episodes by label of the target.
        categories: Usable questions by category.
        table_tasks: Usable trials by table task.
        rows: Statistics by kind.
        findings: What is wrong or worth knowing.
    """

    n_episodes: int
    n_valid: int
    n_frames: int
    difficulties: dict[str, int]
    labels: dict[str, int]
    categories: dict[str, int]
    table_tasks: dict[str, int]
    rows: tuple[KindStatistics, ...]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def report(self) -> DataReport:
        """The same statistics in the form that every check returns."""
        columns = ("", "epi-\nsodes", "paper", "usable", "scenes", "known", "straight,\nm", "steps", "refer-\nence, m")
        rows = tuple(
            (
                row.kind,
                *map(str, (row.episodes, row.published, row.usable, row.scenes, row.known)),
                *map(mean_text, (row.straight_m, row.steps, row.reference_m)),
            )
            for row in self.rows
        )
        notes = [
            "paper: episodes of the published data; known: scenes that can be entered here; straight: as the crow "
            "flies from start to goal; steps: of the reference path; reference: length of exploring for an answer"
        ]
        for name, counts in (
            ("difficulty", self.difficulties),
            ("target", self.labels),
            ("kind of question", self.categories),
        ):
            if counts:
                notes.append(f"by {name}: {', '.join(f'{one} {count}' for one, count in counts.items())}")
        table = DataTable("means over usable episodes", columns, rows, tuple(notes))
        return DataReport(
            "episodes", self.n_valid, self.n_episodes, self.n_frames, self.findings, table, self.to_dict()
        )


def check(root: Path, *, decode: bool = False) -> EpisodeStatistics:
    """Statistics and findings of a folder of episodes.

    Args:
        root: The folder, as for `load`.
        decode: Decode every goal image, not only its header; build every world again, compare it, and place an agent at
            every start and goal. Takes about a second per world.

    Raises:
        DataError: When there are no episodes, or one of their files cannot be read.
    """
    data = load(root)
    rows = tuple(_rows(data))
    images, of_images = _of_images(data.navigation, decode)
    findings = sorted(
        [
            *grouped("error", "not usable", ((fault.id, fault.text) for fault in data.faults), "episode"),
            *of_images,
            *(Finding("warning", note) for note in data.notes),
            *_of_scenes(data),
            *grouped("error", "of another table", _misnamed(data), "episode"),
            *grouped("warning", "odd", _odd(data), "episode"),
            *_of_questions(data),
            *(grouped("error", "cannot be entered", _of_worlds(data), "episode") if decode else ()),
        ],
        key=lambda finding: _SEVERITIES.index(finding.severity),
    )
    return EpisodeStatistics(
        n_episodes=len(data) + len(data.faults),
        n_valid=len(data),
        n_frames=images,
        difficulties=_counted(str(one.difficulty) for one in data.recognition),
        labels=_counted(one.category for one in data.recognition),
        categories=_counted(one.category for one in data.questions),
        table_tasks=_counted(one.table_task for one in data.manipulation),
        rows=rows,
        findings=tuple(findings),
    )


def _rows(data: ClosedLoop) -> Iterator[KindStatistics]:
    for kind in KINDS:
        usable: Sequence[Episode] = getattr(data, kind)
        faults = sum(fault.kind == kind for fault in data.faults)
        if not usable and not faults:
            continue
        scenes = {episode.scene for episode in usable}
        going = data.navigation if kind == "navigation" else ()
        asked = data.questions if kind == "questions" else ()
        doing = data.manipulation if kind == "manipulation" else ()
        yield KindStatistics(
            kind=kind,
            episodes=len(usable) + faults,
            published=PUBLISHED[kind],
            usable=len(usable),
            scenes=len(scenes),
            known=sum(data.scenes[scene] is not None for scene in scenes),
            straight_m=spread(_apart(one.start, one.goal) for one in going),
            steps=spread(
                [*(one.step_to_goal for one in going), *(one.reference_poses for one in doing if one.reference_poses)]
            ),
            reference_m=spread(one.reference_m for one in asked),
        )


def _of_images(episodes: Sequence[NavigationEpisode], decode: bool) -> tuple[int, list[Finding]]:
    """How many goal images there are, and what is wrong with them."""
    count = 0
    errors: list[tuple[str, str]] = []
    for episode in episodes:
        if episode.goal_image is None:
            continue
        try:
            width, height = image_size(episode.goal_image)
            if decode:
                goal_image(episode)
        except DataError as error:
            errors.append((episode.id, str(error).replace(f"{episode.goal_image.parent}/", "")))
            continue
        count += 1
        if width <= height:
            errors.append((episode.id, f"the goal image is {width}x{height}, which cannot be a panorama"))
    return count, list(grouped("error", "not usable", errors, "episode"))


def _of_scenes(data: ClosedLoop) -> Iterator[Finding]:
    """One finding a reason for which scenes have no world."""
    missing = [scene for scene, world in data.scenes.items() if world is None]
    reasons: dict[str, list[str]] = {}
    for scene in missing:
        reasons.setdefault(scene_missing(scene).split(" is ", 1)[1], []).append(scene)
    for reason, scenes in reasons.items():
        many = "1 scene has" if len(scenes) == 1 else f"{len(scenes)} of {len(data.scenes)} scenes have"
        yield Finding("warning", f"{many} no world, their episodes are skipped (first: {scenes[0]}): it is {reason}")


def _odd(data: ClosedLoop) -> Iterator[tuple[str, str]]:
    for episode in data.navigation:
        apart = _apart(episode.start, episode.goal)
        if apart <= episode.radius_m:
            yield episode.id, f"the start is {apart:.2f} m from the goal, within its radius: nothing is to be done"
        elif episode.step_to_goal * STEP_M < apart - episode.radius_m - _SLACK_M:
            yield episode.id, f"{episode.step_to_goal} steps cannot lead over {apart:.2f} m to the goal"


def _of_questions(data: ClosedLoop) -> Iterator[Finding]:
    asked = data.questions
    for what, lacking, then in (
        ("reference length", [one.id for one in asked if not one.reference_m], "they have no SPL"),
        ("blind answer", [one.id for one in asked if one.blind_answer is None], "a missing answer then scores 0"),
    ):
        if lacking:
            yield Finding(
                "info", f"{len(lacking)} of {len(asked)} questions have no {what} (first: {lacking[0]}): {then}"
            )
    others = sorted({one.category for one in asked} - set(QUESTION_CATEGORIES))
    if others:
        yield Finding("info", f"{len(others)} categories of questions are none of the published (first: {others[0]})")


def _of_worlds(data: ClosedLoop) -> Iterator[tuple[str, str]]:
    """Every world built again, and every start and goal in it; of tables, whether they are of their task."""
    yield from _of_tables(data)
    episodes: list[HomeEpisode] = [*data.recognition, *data.navigation, *data.questions]
    episodes.sort(key=lambda episode: episode.scene)
    for episode in episodes:
        facts = data.scenes[episode.scene]
        if facts is None:
            continue
        try:
            floor = getattr(open_world(facts), "floor", None)
        except WorldError as error:
            yield episode.id, str(error)
            continue
        places = {"start": episode.start}
        if isinstance(episode, NavigationEpisode):
            places["goal"] = episode.goal
        for name, stance in places.items():
            if isinstance(floor, FloorPlan) and not _stands(floor, stance):
                yield episode.id, f"the {name} at ({stance.x:.2f}, {stance.y:.2f}) is no place to stand"


def _misnamed(data: ClosedLoop) -> Iterator[tuple[str, str]]:
    for episode in data.manipulation:
        facts = data.scenes[episode.scene]
        if facts is not None and not _is_of(episode, facts):
            yield episode.id, f"scene '{episode.scene}' is no table of {episode.table_task} {episode.variation}"


def _is_of(episode: ManipulationEpisode, facts: WorldFacts) -> bool:
    named = facts.params.get("task"), facts.params.get("variation")
    return facts.name == "tabletop" and named == (episode.table_task, episode.variation)


def _of_tables(data: ClosedLoop) -> Iterator[tuple[str, str]]:
    for episode in data.manipulation:
        facts = data.scenes[episode.scene]
        if facts is None or not _is_of(episode, facts):
            continue
        try:
            table: Any = open_world(facts)
        except WorldgaugeError as error:
            yield episode.id, str(error)
            continue
        if table.task.instruction != episode.instruction:
            yield episode.id, f"the table asks to {table.task.instruction}, the trial to {episode.instruction}"


def _stands(floor: FloorPlan, stance: Stance) -> bool:
    return bool(stands(floor.clearance_at([[stance.x, stance.y]]))[0])


def _apart(one: Stance, other: Stance) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
