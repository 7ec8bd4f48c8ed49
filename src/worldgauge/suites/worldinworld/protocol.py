"""One episode: its environment, the policies, the loop, and what is stored of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.model import WorldModel, holds_videos, imagines
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.suites.worldinworld.loop import LoopStep, run_episode
from worldgauge.suites.worldinworld.policies.contract import queries_of
from worldgauge.suites.worldinworld.policies.person import Seat, desk_here
from worldgauge.suites.worldinworld.task import LoopSettings, TaskEnv, noted_settings
from worldgauge.suites.worldinworld.task_index import open_task
from worldgauge.suites.worldinworld.trace import SEEN, Tracer


def perform(engine_task: Task, model: WorldModel, task_context: TaskContext, settings: LoopSettings) -> Record:
    """Act out one episode with `model` as the world model."""
    if holds_videos(model):
        raise NotApplicableError(f"'{model.spec.name}' holds finished videos: an agent asks as it goes")
    task = open_task(engine_task, settings)
    proposer, reviser = task.policies()
    env = task.make_env()
    seed = task_context.blinding.seed_of(task_context.seed, task.instruction or "", env.reset().front)
    goal, rules = task.goal(env), task.rules(env, seed)
    imagine = task.imagination(model, env, seed, engine_task.id) if imagines(model) else None
    if imagine is not None:
        imagine.speed = task_context.speed
    with Tracer(task_context.directory, env) as tracer:
        if settings.is_acted:
            desk_here().begin(
                Seat(
                    task.instruction,
                    task.parameters.reviser,
                    imagine is not None,
                    rules.left,
                    rules.unit,
                    task.parameters.decisions,
                    whole=settings.protocol != "published",
                    alive=lambda: task_context.progress(tracer.decisions, 0),
                )
            )
        remember = imagine.remember if imagine is not None else lambda: None
        traced = TracedEnv(env, tracer, lambda: task_context.progress(tracer.decisions, 0), remember)
        traced.reset()

        def note(step: LoopStep) -> None:
            # What a language model was asked on the way: by the proposer, and by whoever carries a plan out.
            queries = rules.queries()[tracer.queries :]
            tracer.queries += len(queries)
            tracer.decided(step, {"proposals": queries_of(proposer), "steps": queries})
            task_context.progress(tracer.decisions, 0)

        end = task.start_fault(env) or run_episode(traced, goal, proposer, reviser, rules, imagine, [seed], note)
        frames = tracer.frames
    way = np.array(tracer.positions_m)
    noted = {name: getattr(settings, name) for name in noted_settings()}
    if settings.protocol == "published":
        del noted["protocol"]  # records say where they depart from the paper
    padding = {}
    if imagine is not None and imagine.made > imagine.asked:
        padding = {"frames_asked": imagine.asked, "frames_made": imagine.made}
    facts: dict[str, Any] = {
        "end": end,
        "control": model.spec.control,
        "view": model.spec.view,
        "caption": None if imagine is None else imagine.caption,
        "proposer": task.parameters.proposer,
        "reviser": task.parameters.reviser,
        **({"who": settings.person} if settings.is_acted else {}),
        **noted,
        "decisions": tracer.decisions,
        "steps": rules.count_steps(len(way) - 1, end),
        "metres": round(geometry.length(way), 9),
        "xy": np.round(way[:, :2], 4).tolist(),
        "calls": 0 if imagine is None else imagine.calls,
        **padding,
        "frames_generated": frames,
        **task.outcome(rules, env),
    }
    return Record(engine_task, model.spec.name, task_context.directory, facts, SEEN)


class TracedEnv:
    """An environment that traces every event; `heartbeat` runs after each step, `remember` at the start too."""

    def __init__(
        self, env: TaskEnv, tracer: Tracer, heartbeat: Callable[[], None], remember: Callable[[], None]
    ) -> None:
        self._env, self._tracer, self._heartbeat, self._remember = env, tracer, heartbeat, remember
        self.observe = env.observe

    def reset(self) -> Any:
        """Go to the start, and store what is seen there."""
        observation = self._env.reset()
        self._tracer.keep_view()
        self._remember()
        return observation

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, and store what is seen then."""
        self._env.turn(left_rad)
        self._tracer.keep_view()

    def step(self, action: Any) -> bool:
        """Carry out one action."""
        collided = bool(self._env.step(action))
        self._tracer.keep_step()
        self._remember()
        self._heartbeat()
        return collided
