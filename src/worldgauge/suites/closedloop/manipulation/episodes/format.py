"""Trials at a table, and their file: in a schema of ours, since what was published of them is pickled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import WorldFacts
from worldgauge.core.fields import short, whole_of
from worldgauge.core.io import check_name
from worldgauge.engine.collection.findings import grouped, spread
from worldgauge.suites.closedloop.format.contract import EpisodeCheck, EpisodeFormat, Worlds, counted
from worldgauge.suites.closedloop.format.rows import MAX_WHOLE, EpisodeRow, id_of, text_of
from worldgauge.suites.closedloop.format.write import VERSION, distinct, put_json
from worldgauge.worlds import open_world


@dataclass(frozen=True)
class ManipulationEpisode:
    """Do something at a table with an arm; the scene is a table with its things.

    Attributes:
        id: Unique.
        scene: Name of the scene.
        table_task: Name of a registered table task.
        variation: Variation of the task.
        instruction: The instruction to the agent.
        wordings: Other ways to say it.
        reference_poses: Poses that the scripted expert needed; 0 where unknown.
    """

    id: str
    scene: str
    table_task: str
    variation: int
    instruction: str
    wordings: tuple[str, ...] = ()
    reference_poses: int = 0


class ManipulationFormat(EpisodeFormat[ManipulationEpisode]):
    """manipulation/trials.json."""

    kind, key = "manipulation", "trials"
    contents: ClassVar[Mapping[str, str]] = {"manipulation": "manipulation trials"}
    folders = ("manipulation",)
    published = 200
    measures: ClassVar[Mapping[str, str]] = {"steps": "steps"}
    tallied: ClassVar[Mapping[str, str]] = {"table_tasks": ""}
    discordance = 0.18

    def read(self, row: EpisodeRow) -> ManipulationEpisode:
        """Read one trial."""
        wordings = row.get("wordings") or []
        if not isinstance(wordings, list) or len(wordings) > 100:
            raise ValueError(f"field 'wordings' is {short(wordings)}; give a list of at most 100 texts")
        return ManipulationEpisode(
            id=id_of(row, "episode_id"),
            scene=text_of(row, "scene_id"),
            table_task=check_name(text_of(row, "table_task"), "field 'table_task'"),
            variation=whole_of(row, "variation", 0, MAX_WHOLE),
            instruction=text_of(row, "instruction"),
            wordings=tuple(text_of({"wordings": one}, "wordings") for one in wordings),
            reference_poses=whole_of(row, "reference_poses", 0, 100_000) if "reference_poses" in row else 0,
        )

    def check(self, episodes: Sequence[ManipulationEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """Table tasks, the expert's poses, and scenes that are another table."""
        return EpisodeCheck(
            findings=tuple(grouped("error", "of another table", _misnamed(episodes, worlds), "episode")),
            means={"steps": spread(one.reference_poses for one in episodes if one.reference_poses)},
            tallies={"table_tasks": counted(one.table_task for one in episodes)},
        )

    def check_in_world(self, episode: ManipulationEpisode, world: WorldFacts) -> Iterator[str]:
        """A table that asks for something else."""
        if not _is_of(episode, world):
            return
        table: Any = open_world(world)
        if table.task.instruction != episode.instruction:
            yield f"the table asks to {table.task.instruction}, the trial to {episode.instruction}"


def write_manipulation(root: Path, episodes: Iterable[ManipulationEpisode]) -> Path:
    """Write <root>/manipulation/trials.json.

    Returns:
        Path of the file.

    Raises:
        DataError: As `write_recognition`.
    """
    unique = distinct(episodes)
    content = {"version": VERSION, "num_items": len(unique), "trials": [_row(episode) for episode in unique]}
    return put_json(Path(root) / "manipulation" / "trials.json", content)


def _row(episode: ManipulationEpisode) -> dict[str, Any]:
    return {
        "episode_id": episode.id,
        "scene_id": episode.scene,
        "table_task": episode.table_task,
        "variation": episode.variation,
        "instruction": episode.instruction,
        "wordings": list(episode.wordings),
        "reference_poses": episode.reference_poses,
    }


def _misnamed(episodes: Sequence[ManipulationEpisode], worlds: Worlds) -> Iterator[tuple[str, str]]:
    for episode in episodes:
        facts = worlds[episode.scene]
        if facts is not None and not _is_of(episode, facts):
            yield episode.id, f"scene '{episode.scene}' is no table of {episode.table_task} {episode.variation}"


def _is_of(episode: ManipulationEpisode, facts: WorldFacts) -> bool:
    named = facts.params.get("task"), facts.params.get("variation")
    return facts.name == "tabletop" and named == (episode.table_task, episode.variation)
