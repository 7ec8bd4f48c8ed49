"""Manipulation: do with an arm what the instruction says (World-in-World, section 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import DataError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import Record, Score, TaskView
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.worldinworld.format.demonstration import read_index
from worldgauge.suites.worldinworld.loop import FALLBACK, Rules
from worldgauge.suites.worldinworld.manipulation.chat import ManipulationReviser, TableProposer
from worldgauge.suites.worldinworld.manipulation.env import RefusedPlan, TableEnv, TableImagination, plan_fault
from worldgauge.suites.worldinworld.manipulation.episodes import (
    RELEASED,
    ManipulationEpisode,
    ManipulationFormat,
    ManipulationSampler,
)
from worldgauge.suites.worldinworld.manipulation.iterative_reviser import ITERATIONS
from worldgauge.suites.worldinworld.manipulation.prompts import example_of
from worldgauge.suites.worldinworld.metrics import success, task_progress, trajectory_steps
from worldgauge.suites.worldinworld.policies.contract import REFUSED, ActionPlan, Decision, History, TableObservation
from worldgauge.suites.worldinworld.task import (
    ClosedLoopTask,
    LoopSettings,
    TaskParameters,
    closed_loop_tasks,
    walked_facts,
)
from worldgauge.worlds import open_world
from worldgauge.worlds.table_process import NAME, TableProcess
from worldgauge.worlds.tabletop import Tabletop, check_engine
from worldgauge.worlds.tabletop.engine import can_draw
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan, random_pose
from worldgauge.worlds.tabletop.simulation import FRONT_FOV_DEG

SOLVED, UNSTABLE = "solved", "unstable"
EXPERT_FRAMES = 28
"""Frames of the expert's demonstration in reports."""


@dataclass(frozen=True)
class ManipulationSettings:
    """Settings of manipulation."""

    RELEASED: ClassVar[Mapping[str, str]] = {}

    expert_noise_m: float | None = option(None, "Error of the proposer scripted, in metres.", low=0, high=1)
    expert_wrong: float | None = option(None, "Share of wrong picks of the proposer scripted, 0 to 1.", low=0, high=1)
    demonstrations: str | None = option(None, "Folder of demonstrations for the proposer cloned.")
    demonstrations_digest: str = ""
    cloned_moves: Literal["together", "apart"] | None = option(
        None, "How parts of a remembered plan move with its objects."
    )
    revision: Literal["frames", "described"] | None = option(
        None, "Input of a language model as reviser: frames, or its description of them."
    )
    camera: Literal["default", "published"] = option(
        "default", "Front camera of the table. published: as in World-in-World.", later=True
    )
    iterations: int = option(
        ITERATIONS, "Revisers iterative and resample: most rounds of proposals per decision.", low=2, high=8, later=True
    )
    shots: int = option(
        0, "Example plans, by the expert, in a language model's prompts for plans: 0 or 1.", low=0, high=1, later=True
    )


@closed_loop_tasks.register("manipulation")
class ManipulationTask(ClosedLoopTask[ManipulationEpisode, TableEnv, "ManipulationRules"]):
    """Carry out an instruction at a table with an arm."""

    name, order = "manipulation", 4
    format, sampler = ManipulationFormat(), ManipulationSampler()
    defaults = TaskParameters(
        decisions=15,
        candidates=5,
        length=5,
        clip=13,
        hfov_deg=FRONT_FOV_DEG,
        view_px=448,
        proposer="scripted",
        reviser="similarity",
    )
    columns: ClassVar[Mapping[str, str]] = {
        "manipulation/success": "success rate, %",
        "manipulation/trajectory_steps": "decisions",
        "manipulation/task_progress": "progress",
    }
    regret_unit = "progress of the task, 0 to 1"
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"table_task": (), "expert": ()}
    gain_parts: ClassVar[Mapping[str, str]] = {"table_task": "table task"}
    ends: ClassVar[Mapping[str, str]] = {
        SOLVED: "solved: the simulator says so",
        UNSTABLE: "the physics became unstable",
    }
    goal_words = "the table when all is done"
    noise_levels = (0.1, 0.25, 0.4, 0.6, 0.8)
    fps = 6.0  # several frames lead to a pose
    policy_options: ClassVar[Mapping[str, str]] = {
        "noise_m": "expert_noise_m",
        "wrong": "expert_wrong",
        "demonstrations": "demonstrations",
        "moves": "cloned_moves",
        "revision": "revision",
        "iterations": "iterations",
    }
    OwnSettings = ManipulationSettings
    shared_proposers: ClassVar[Mapping[str, Any]] = {"chat": TableProposer}
    shared_revisers: ClassVar[Mapping[str, Any]] = {"chat": ManipulationReviser}

    @classmethod
    def group(cls, episode: ManipulationEpisode) -> dict[str, object]:
        """Group by what is done at the table."""
        own: dict[str, object] = {"expert": "cannot solve" if episode.beyond_expert else "solves"}
        asked: dict[str, object] = {"table_task": episode.table_task.replace("_", " ")}
        return asked | own if episode.id.startswith(RELEASED) else asked

    @classmethod
    def clip_frames(cls, length: int, clip: int) -> int:
        """Return the same for any plan: poses are spread over the frames, or thinned."""
        return clip

    @classmethod
    def found_settings(cls, settings: LoopSettings) -> dict[str, Any]:
        """Digest of the demonstrations."""
        folder = part_of(settings, ManipulationSettings).demonstrations
        return {"demonstrations_digest": "" if folder is None else read_index(Path(folder)).split_hash}

    @classmethod
    def check_settings(cls, settings: LoopSettings) -> None:
        """Check that the proposer has what it needs."""
        own = part_of(settings, ManipulationSettings)
        if settings.of_task(cls.name).proposer == "cloned" and own.demonstrations is None:
            what = "a folder that 'worldgauge collect demonstrations' has made"
            raise UsageError(f"proposer 'cloned' needs {what}: say which with --set demonstrations=...")
        if own.shots and settings.chat is None:
            raise UsageError("shots=1 is for a language model: say which with --set chat=MODEL@URL")

    @classmethod
    def check_installed(cls, settings: LoopSettings) -> None:
        """See `ClosedLoopTask`; the physics must be installed."""
        super().check_installed(settings)
        check_engine("leave it out with --set task=...")

    def episode_options(self) -> dict[str, Any]:
        """Return the example of `shots`."""
        shots = part_of(self.settings, ManipulationSettings).shots
        return {"example": example_of(self.episode.table_task, self.parameters.length)} if shots else {}

    def make_env(self) -> TableEnv:
        """Make the table at its start."""
        episode, table = self.episode, open_world(self.world)
        expected = {"task": episode.table_task, "variation": episode.variation}
        found = {name: self.world.params.get(name) for name in expected}
        if (
            not isinstance(table, Tabletop | TableProcess)
            or found != expected
            or table.task.instruction != episode.instruction
        ):
            raise DataError(
                f"{episode.id}: '{episode.scene}' is no table of {episode.table_task} {episode.variation} on which to "
                f"{episode.instruction}; correct the trial, or collect again"
            )
        published = part_of(self.settings, ManipulationSettings).camera == "published"
        return TableEnv(table, self.parameters.view_px, published=published)

    def goal(self, env: TableEnv) -> Goal:
        """Return the instruction, and views of the table at the start and when solved."""
        before, after = env.goal_picture()
        return Goal(image=after, text=self.episode.instruction, before=before)

    def goal_picture(self) -> Image | None:
        """Return the table when solved, for films; None where nothing can be drawn."""
        return self.make_env().goal_picture()[1] if self.world.name == NAME or can_draw() else None

    def rules(self, env: TableEnv, seed: int) -> ManipulationRules:
        """Return the rules of the episode."""
        return ManipulationRules(env, self.parameters, self.settings)

    def imagination(self, model: WorldModel, env: TableEnv, seed: int, task_id: str) -> TableImagination:
        """Return what asks the world model; it is shown earlier frames too."""
        return TableImagination(model, env, self.parameters, self.world, self.episode.instruction, seed, task_id)

    def outcome(self, rules: ManipulationRules, env: TableEnv) -> dict[str, Any]:
        """Return progress, and which poses failed."""
        failed = [reason for reason in env.reasons if reason is not None]
        return {"progress": round(env.progress, 6), "unstable": env.unstable, "failed_poses": failed}

    def scores(self, record: Record) -> Iterator[Score]:
        """Yield success, decisions and progress."""
        facts = record.facts
        solved = success(facts["end"] == SOLVED)
        head_facts = {
            **walked_facts(record),
            "progress": facts["progress"],
            "failed_poses": facts["failed_poses"],
            "flags": ["unstable"] if facts["unstable"] else [],
        }
        yield make_score(record, "success", solved, facts=head_facts, prefix="task/")
        yield make_score(record, "success", solved, prefix="manipulation/")
        decisions = trajectory_steps(facts["decisions"])
        yield make_score(record, "trajectory_steps", decisions, prefix="manipulation/")
        yield make_score(record, "task_progress", task_progress(facts["progress"]), prefix="manipulation/")

    def simulated(self, env: TableEnv, line: Mapping[str, Any], candidate: Mapping[str, Any], camera: Camera) -> Clip:
        """Return the true frames on the way through the poses of a candidate; see `ClosedLoopTask.simulated`."""
        frames = candidate["imagined"][1] - candidate["imagined"][0] + 1
        poses = [HandPose(*pose) for pose in candidate["steps"]]
        plan = clip_plan(line["hand"], np.array(poses), frames)
        return env.film(poses, plan, env.state_of(line["state"])).cropped(camera.width, camera.height)

    @property
    def instruction(self) -> str:
        """The instruction."""
        return self.caption + "."

    @property
    def caption(self) -> str:
        """The instruction."""
        return self.episode.instruction.capitalize()

    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield the progress, and what failed."""
        yield f"{facts['progress']:.0%} of the task is done"
        if facts["failed_poses"]:
            yield f"{len(facts['failed_poses'])} poses failed, the last: {facts['failed_poses'][-1]}"

    def view(self) -> TaskView:
        """Show the expert's demonstration and the things on the table."""
        env = self.make_env()
        sight = env.observe()
        try:
            poses = sight.expert()
        except NotApplicableError:
            poses = [sight.hand]  # nobody can show how it is done
        plan = clip_plan(sight.hand, np.array(poses), EXPERT_FRAMES)
        film = env.film(poses, plan)
        ways = np.repeat(sight.pose[None], len(film), axis=0)
        ways[:, :3, 3] = plan.poses[1:, :3]
        marks = {thing.name: (thing.place_m[0], thing.place_m[1]) for thing in sight.things}
        return TaskView(film, ways, 0, self.world, marks)


class ManipulationRules(Rules[HandPose | RefusedPlan]):
    """Rules of an episode: bring a table into the state of the instruction; the budget `decisions` counts poses.

    Success is checked after every pose. A plan without poses, with more than L, or with invalid ones is one failed
    step.
    """

    checks_every_step = True

    def __init__(self, env: TableEnv, parameters: TaskParameters, settings: LoopSettings) -> None:
        super().__init__(parameters.candidates, parameters.length, settings.tts_ratio)
        self._poses = parameters.decisions
        self._frames = parameters.clip + 1
        self._env = env
        self.taken = 0

    def terminated(self) -> str | None:
        """Stop when it is solved, or the physics is unstable."""
        if self._env.unstable:
            return UNSTABLE
        return SOLVED if self._env.progress >= 1 else None

    def truncated(self, history: History) -> bool:
        """Whether the budget of poses is used up."""
        return self.taken >= self._poses

    def first_turn_rad(self, decision: Decision) -> float:
        """Return 0: an arm does not turn."""
        return 0.0

    def actions(self, decision: Decision) -> Iterator[HandPose | RefusedPlan]:
        """Yield the whole plan, while poses are left."""
        plan = decision.plan
        fault = "no plan was made" if plan is None else _fault_of(plan, self.length)
        if plan is None or fault is not None:
            self.taken += 1
            yield RefusedPlan(fault or "")
            return
        self._env.begin(plan.poses, self._frames)
        for pose in plan.poses[: self._left]:
            self.taken += 1
            yield pose

    def true_value(self, plan: ActionPlan) -> float | None:
        """True progress in [0, 1] after the plan, cut to the poses left; None for a plan that cannot be started."""
        if plan_fault(plan.poses, self.length) is not None:
            return None
        return self._env.future(plan.poses[: self._left]).progress

    @property
    def _left(self) -> int:
        """Poses left in the budget."""
        return self._poses - self.taken

    def fallback(self, observation: TableObservation, rng: np.random.Generator) -> ActionPlan:
        """Return one pose drawn from all bins, with the gripper open (released code)."""
        return ActionPlan((), "random pose", flags=(FALLBACK,), poses=(random_pose(rng),))


def _fault_of(plan: ActionPlan, length: int) -> str | None:
    """As `plan_fault`; who refused a plan knows better why."""
    return str((plan.aim or {}).get("text")) if REFUSED in plan.flags else plan_fault(plan.poses, length)
