"""A fifth task of the closed loop, all of it in one module: turn until you look at a thing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import Goal, whole_of
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.worldinworld.format.contract import (
    EpisodeCheck,
    EpisodeFacts,
    HomeFormat,
    Share,
    Worlds,
    counted,
    distinct,
    place_fields,
    put_json,
)
from worldgauge.suites.worldinworld.format.rows import EpisodeRow, as_stored, id_of, stance_of, text_of
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeRules, HomeSettings, HomeTask, aims_of_things
from worldgauge.suites.worldinworld.metrics import success, trajectory_steps
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Decision, History
from worldgauge.suites.worldinworld.sampling import HomeSampler, HomeSearch, by_number
from worldgauge.suites.worldinworld.task import TaskParameters, closed_loop_tasks, walked_facts
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Primitive, Stance


@dataclass(frozen=True)
class FacingEpisode:
    id: str
    scene: str
    target: int
    category: str
    start: Stance
    height_m: float = EYE_HEIGHT_M


class FacingFormat(HomeFormat[FacingEpisode]):
    """facing/episodes.json."""

    kind, key, folders = "facing", "facings", ("facing",)
    contents: ClassVar[Mapping[str, str]] = {"facing": "facing episodes"}
    tallied: ClassVar[Mapping[str, str]] = {"faced": "thing to face"}

    def read(self, row: EpisodeRow) -> FacingEpisode:
        start = stance_of(row, "start")
        target = whole_of(row, "target_id", 0, 2**31 - 1)
        return FacingEpisode(id_of(row, "id"), text_of(row, "scene_id"), target, text_of(row, "category"), start)

    def check(self, episodes: Sequence[FacingEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        return EpisodeCheck(tallies={"faced": counted(one.category for one in episodes)})


def write_facing(root: Path, episodes: Sequence[FacingEpisode]) -> Path:
    rows = [
        {
            "id": one.id,
            "scene_id": one.scene,
            "target_id": one.target,
            "category": one.category,
            **place_fields("start", one.start),
        }
        for one in distinct(episodes)
    ]
    return put_json(root / "facing" / "episodes.json", {"facings": rows})


@dataclass(frozen=True)
class FacingOptions:
    facing: int = option(4, "Episodes: turn to a thing.", low=0, high=1000)


class FacingSampler(HomeSampler):
    kind, Options, id_form = "facing", FacingOptions, "facing-{:04d}"

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        rng, things = search.share.rng(self.kind), search.home.landmarks
        while True:
            x, y = search.geodesic.random_point(rng)
            thing = things[int(rng.integers(len(things)))]
            start = as_stored(Stance(float(x), float(y), float(rng.uniform(-math.pi, math.pi))))
            yield {"start": list(start), "target": thing.instance, "category": thing.category}

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        write_facing(
            out,
            [
                FacingEpisode(self.id_of(one), share.scene, one["target"], one["category"], Stance(*one["start"]))
                for share, one in by_number(found)
            ],
        )


@dataclass(frozen=True)
class FacingSettings(HomeSettings):
    facing_within: Literal["narrow", "wide"] = option("wide", "How exactly a thing is to be faced.")


@closed_loop_tasks.register("facing")
class FacingTask(HomeTask[FacingEpisode, "FacingRules"]):
    """Turn to a thing."""

    name, order = "facing", 5
    format, sampler = FacingFormat(), FacingSampler()
    OwnSettings = FacingSettings
    defaults = TaskParameters(
        decisions=6,
        candidates=3,
        length=3,
        clip=0,
        aspect=1.0,
        hfov_deg=90.0,
        view_px=64,
        proposer="heuristic",
        reviser="oracle",
    )
    shared_proposers: ClassVar[Mapping[str, Any]] = {"heuristic": None}
    shared_revisers: ClassVar[Mapping[str, Any]] = {"none": None, "oracle": None}
    columns: ClassVar[Mapping[str, str]] = {"facing/success": "success rate, %", "facing/trajectory_steps": "steps"}
    regret_unit = "radians off"
    ends: ClassVar[Mapping[str, str]] = {"faced": "looks at it"}

    def goal(self, env: HomeTaskEnv) -> Goal:
        return Goal(text=self.instruction, target=str(self.episode.target))

    def rules(self, env: HomeTaskEnv, seed: int) -> FacingRules:
        within = part_of(self.settings, FacingSettings).facing_within
        return FacingRules(env, self, math.radians(12 if within == "narrow" else 30))

    def outcome(self, rules: FacingRules, env: HomeTaskEnv) -> dict[str, Any]:
        return {"off_rad": round(rules.off_rad(env.stance), 6)}

    def scores(self, record: Record) -> Iterator[Score]:
        faced = success(record.facts["end"] == "faced")
        yield make_score(record, "success", faced, facts=walked_facts(record), prefix="task/")
        yield make_score(record, "success", faced, prefix="facing/")
        yield make_score(record, "trajectory_steps", trajectory_steps(record.facts["steps"]), prefix="facing/")

    @property
    def instruction(self) -> str:
        return f"Turn to the {self.episode.category}."

    @property
    def caption(self) -> str:
        return f"Turn to the {self.episode.category}"

    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        yield f"{math.degrees(facts['off_rad']):.0f} degrees off"

    def aims(self, env: HomeTaskEnv) -> list[tuple[str, FloatArray, float]]:
        return aims_of_things(env, (self.episode.target,))


class FacingRules(HomeRules):
    """Look at the thing within a few decisions."""

    def __init__(self, env: HomeTaskEnv, task: FacingTask, within_rad: float) -> None:
        super().__init__(task.parameters.candidates, task.parameters.length, task.settings.tts_ratio)
        self._env, self._within_rad, self._decisions = env, within_rad, task.parameters.decisions
        ((_, self._place, _),) = task.aims(env)

    def off_rad(self, stance: Stance) -> float:
        bearing = np.arctan2(self._place[1] - stance.y, self._place[0] - stance.x)
        return float(abs(wrap_angle(bearing - stance.yaw)))

    def terminated(self) -> str | None:
        return "faced" if self.off_rad(self._env.stance) <= self._within_rad else None

    def truncated(self, history: History) -> bool:
        return len(history) >= self._decisions

    def actions(self, decision: Decision) -> Iterator[Primitive]:
        return iter(() if decision.plan is None else decision.plan.steps)

    def true_value(self, plan: ActionPlan) -> float | None:
        return -self.off_rad(self._env.led_to(plan.turn_left_rad, plan.steps))
