"""One episode: its environment, the policies, the loop, and what is stored of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.model import HoldsVideos, WorldModel, imagines
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.suites.closedloop.loop import LoopStep, run_episode
from worldgauge.suites.closedloop.policies.contract import queries_of
from worldgauge.suites.closedloop.policies.person import Seat, desk_here
from worldgauge.suites.closedloop.task import Settings, TaskEnv, noted_settings
from worldgauge.suites.closedloop.task_index import open_task
from worldgauge.suites.closedloop.trace import SEEN, Tracer
from worldgauge.worlds import caption_of


def perform(engine_task: Task, subject: WorldModel, task_context: TaskContext, settings: Settings) -> Record:
    """Act out one episode with `subject` as the world model."""
    if isinstance(subject, HoldsVideos):
        raise NotApplicableError(f"'{subject.spec.name}' holds finished videos: an agent asks as it goes")
    task, seed = open_task(engine_task, settings), task_context.seed
    proposer, reviser = task.policies()
    env = task.make_env()
    goal, rules = task.goal(env), task.rules(env, seed)
    imagine = task.imagination(subject, env, seed, engine_task.id) if imagines(subject) else None
    remember = None
    if imagine is not None:
        remember, imagine.speed = imagine.remember, task_context.speed
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
        "control": subject.spec.control,
        "view": subject.spec.view,
        "caption": caption_of(task.world),
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
    return Record(engine_task, subject.spec.name, task_context.directory, facts, SEEN)


class TracedEnv:
    """An environment that traces everything that happens in it.

    Args:
        remember: Called at the start and after every step; None for nothing.
    """

    def __init__(
        self,
        env: TaskEnv,
        tracer: Tracer,
        heartbeat: Callable[[], None] = lambda: None,
        remember: Callable[[], None] | None = None,
    ) -> None:
        self._env, self._tracer, self._heartbeat = env, tracer, heartbeat
        self._remember = remember or (lambda: None)
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
        """Carry out one action.

        Returns:
            Whether it collided.
        """
        collided = bool(self._env.step(action))
        self._tracer.keep_step()
        self._remember()
        self._heartbeat()
        return collided
