"""Episodes of manipulation: how they are drawn, and their file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import WorldFacts, short, whole_of
from worldgauge.core.io import check_name, digest_of, digest_of_folder
from worldgauge.engine.collect import plain_facts
from worldgauge.engine.collection import grouped, spread
from worldgauge.engine.options import option
from worldgauge.serving.messages import TABLE_VARIABLE
from worldgauge.suites.worldinworld.format.contract import (
    MOST_EPISODES,
    VERSION,
    EpisodeCheck,
    EpisodeFacts,
    EpisodeFormat,
    EpisodeSampler,
    Progress,
    Share,
    Worlds,
    counted,
    distinct,
    put_json,
)
from worldgauge.suites.worldinworld.format.rows import MAX_WHOLE, EpisodeRow, id_of, text_of
from worldgauge.suites.worldinworld.manipulation.released_trials import RELEASED_TASKS, find_trials, read_trial
from worldgauge.worlds import open_world
from worldgauge.worlds.table_process import NAME as SERVED
from worldgauge.worlds.table_process import TableProcess, tables_here
from worldgauge.worlds.tabletop import Done, Tabletop, carried_out, check_engine
from worldgauge.worlds.tabletop.contract import SEEDS, table_name, table_tasks

RELEASED = "released-"
"""Begins the names of released trials."""


@dataclass(frozen=True)
class ManipulationEpisode:
    """Do something at a table with an arm; the scene is a table with its things."""

    id: str
    scene: str
    table_task: str
    variation: int
    instruction: str
    wordings: tuple[str, ...] = ()
    reference_poses: int = 0  # of the expert; 0 where it is not known to solve the trial

    @property
    def beyond_expert(self) -> bool:
        """Whether it is a released trial that the expert cannot solve."""
        return self.id.startswith(RELEASED) and not self.reference_poses


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

    def lacks(self, world: WorldFacts) -> str | None:
        """Why a served table cannot be opened: nobody has said by what command."""
        missing = world.name == SERVED and not os.environ.get(TABLE_VARIABLE)
        return (
            f"a process serves its table, and cannot be verified here: name it in {TABLE_VARIABLE}" if missing else None
        )

    def check(self, episodes: Sequence[ManipulationEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """Table tasks, the expert's poses, scenes that are another table, and those that cannot be opened."""
        facts = ((episode.id, worlds[episode.scene]) for episode in episodes)
        lacking = [(name, why) for name, world in facts if world is not None and (why := self.lacks(world))]
        return EpisodeCheck(
            findings=(
                *grouped("info", "not opened", lacking, "episode"),
                *grouped("error", "of another table", _misnamed(episodes, worlds), "episode"),
                *grouped("info", "kept", ((e.id, BEYOND) for e in episodes if e.beyond_expert), "episode"),
            ),
            means={"steps": spread(one.reference_poses for one in episodes if one.reference_poses)},
            tallies={"table_tasks": counted(one.table_task for one in episodes)},
        )

    def check_in_world(self, episode: ManipulationEpisode, world: WorldFacts) -> Iterator[str]:
        """A table that asks for something else."""
        if not _is_of(episode, world) or self.lacks(world):
            return
        table: Any = open_world(world)
        if table.task.instruction != episode.instruction:
            yield f"the table asks to {table.task.instruction}, the trial to {episode.instruction}"


def write_manipulation(root: Path, episodes: Iterable[ManipulationEpisode]) -> Path:
    """Write <root>/manipulation/trials.json."""
    unique = distinct(episodes)
    content = {"version": VERSION, "num_items": len(unique), "trials": [_row(episode) for episode in unique]}
    return put_json(Path(root) / "manipulation" / "trials.json", content)


def _row(episode: ManipulationEpisode) -> dict[str, Any]:
    names = {"id": "episode_id", "scene": "scene_id"}
    return {names.get(name, name): value for name, value in vars(episode).items()}


def _misnamed(episodes: Sequence[ManipulationEpisode], worlds: Worlds) -> Iterator[tuple[str, str]]:
    for episode in episodes:
        facts = worlds[episode.scene]
        if facts is not None and not _is_of(episode, facts):
            yield episode.id, f"scene '{episode.scene}' is no table of {episode.table_task} {episode.variation}"


def _is_of(episode: ManipulationEpisode, facts: WorldFacts) -> bool:
    named = facts.params.get("task"), facts.params.get("variation")
    return facts.name in ("tabletop", SERVED) and named == (episode.table_task, episode.variation)


TABLE_TASKS = ("push_buttons", "slide_block", "insert_ring", "stack_cups")
"""The published ones, in the paper's order; an even number of trials of each."""
TRIES = 20
"""Tables that are tried for one trial."""
BEYOND = "the expert cannot solve it"


@dataclass(frozen=True)
class ManipulationOptions:
    """Options of a collection."""

    manipulation: int = option(
        ManipulationFormat.published,
        "Trials of a robot arm at a table. Needs the extra 'manipulation'.",
        low=0,
        high=MOST_EPISODES,
    )
    table: Literal["served"] | None = option(
        None, f"served: trials on the tables of the server that {TABLE_VARIABLE} names."
    )


class ManipulationSampler(EpisodeSampler):
    """Collects them, one part for each table task."""

    kind, Options = "manipulation", ManipulationOptions

    def check_installed(self) -> None:
        """The physics must be installed."""
        check_engine("leave it out with --manipulation 0")

    def shares(self, settings: Mapping[str, Any]) -> Iterator[TableShare]:
        """Those of all table tasks that have any trials."""
        known = {task: table_tasks.entry(task).facts["variations"] for task in TABLE_TASKS}
        served = settings.get("table") is not None and bool(settings[self.kind])
        if served:
            known = {one["name"]: one["variations"] for one in tables_here().spec.tasks}
        for place, (task, variations) in enumerate(known.items()):
            count = len(range(place, settings[self.kind], len(known)))
            if count:
                yield TableShare(task, settings["split"], settings["seed"], count, variations, served)

    def release(self, root: Path, count: int) -> tuple[str, Sequence[Share]]:
        """Of each table task an even number of trials, as far as there are."""
        found = find_trials(root)
        even = {task: len(range(place, count, len(TABLE_TASKS))) for place, task in enumerate(TABLE_TASKS)}
        shares = [ReleasedShare(task, tuple(found[task][:most])) for task, most in even.items() if found[task][:most]]
        return digest_of("".join(digest_of_folder(root / own.folder) for own in RELEASED_TASKS.values())), shares

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """By task, variation and number; see `write_manipulation`."""
        episodes = [
            ManipulationEpisode(
                id=facts.get("id", f"{task}-{facts['number']:03d}"),
                table_task=task,
                wordings=tuple(facts["wordings"]),
                reference_poses=facts["poses"],
                **{name: facts[name] for name in ("scene", "variation", "instruction")},
            )
            for share, facts in found
            for task in share.counts
        ]
        write_manipulation(out, episodes)


@dataclass(frozen=True)
class TableShare:
    """The trials that are to be found for one table task."""

    task: str
    split: str
    seed: int
    count: int
    variations: int
    served: bool

    @property
    def scene(self) -> str:
        """The name of its part."""
        return f"table-{self.task}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Trials of the table task."""
        return {self.task: self.count}

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """The trials of the table task; those not found within the tries are missing."""
        trials = []
        worlds = {}
        discards: Counter[str] = Counter()
        can_solve = not self.served or tables_here().spec.expert
        for number in range(self.count):
            variation = number % self.variations
            for attempt in range(TRIES):
                own = SEEDS[self.split]
                drawn = np.random.SeedSequence([self.seed, number, attempt]).generate_state(1)[0]
                seed = own.start + int(drawn) % len(own)
                table = (TableProcess if self.served else Tabletop)(self.task, variation, seed)
                done = carried_out(table) if can_solve else Done((), (), BEYOND)
                if can_solve and not done.solved:
                    discards["the expert cannot do it"] += 1
                    continue
                name = table_name(self.task, variation, seed)
                worlds[name] = plain_facts(table.facts)
                trials.append(_found(table, name, number, done))
                break
            progress(number + 1, self.count)
        trials.sort(key=lambda one: (one["variation"], one["number"]))
        short = f"only {len(trials)} of {self.count} found" if len(trials) < self.count else None
        return {
            "asked": {self.task: self.count},
            "worlds": worlds,
            "episodes": {"manipulation": trials},
            "discards": dict(sorted(discards.items())),
            "failure": short,
        }


@dataclass(frozen=True)
class ReleasedShare:
    """The released trials of one table task."""

    task: str
    folders: tuple[Path, ...]

    @property
    def scene(self) -> str:
        """The name of its part."""
        return f"{RELEASED}{self.task}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Trials of the table task."""
        return {self.task: len(self.folders)}

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """All trials; those that the expert cannot solve have 0 poses."""
        trials, worlds = [], {}
        for number, folder in enumerate(self.folders):
            trial = read_trial(self.task, folder)
            table, name = Tabletop(self.task, trial.variation, layout=trial.layout().plain), f"{RELEASED}{trial.name}"
            worlds[name] = plain_facts(table.facts)
            trials.append({**_found(table, name, number, carried_out(table)), "id": name})
            progress(number + 1, len(self.folders))
        episodes = {"manipulation": trials}
        return {"asked": self.counts, "worlds": worlds, "episodes": episodes, "discards": {}, "failure": None}


def _found(table: Tabletop | TableProcess, name: str, number: int, done: Done) -> dict[str, Any]:
    task, poses = table.task, len(done.poses) if done.solved else 0
    wording = {"instruction": task.instruction, "wordings": list(task.wordings)}
    return {"number": number, "scene": name, "variation": table.facts.params["variation"], **wording, "poses": poses}
