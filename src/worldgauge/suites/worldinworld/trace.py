"""The trace of an episode: one line per decision, the frames that were seen, and those that were imagined."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.image import Image
from worldgauge.core.video import Writer, resize
from worldgauge.suites.worldinworld.loop import LoopStep
from worldgauge.suites.worldinworld.policies.contract import Candidate, Rollout
from worldgauge.suites.worldinworld.task import TaskEnv
from worldgauge.worlds.walking.primitives import NAV_STEPS

TRACE, SEEN, IMAGINED, COMPARED = "trace.jsonl", "seen.mp4", "imagined.mp4", "compared.mp4"


class Tracer:
    """Writes a trace during the loop; use it as a context manager.

    SEEN has the front view before decisions and after steps, IMAGINED every rollout's plan frames; both are for people.
    COMPARED has the first candidate's generated frames, lossless, at decisions 0, 1, 2, 4, 8, ..., for the metrics.
    """

    def __init__(self, folder: Path, env: TaskEnv) -> None:
        self._folder = folder
        self._env = env
        self._stack = ExitStack()
        self._lines = self._stack.enter_context((folder / TRACE).open("w", encoding="utf-8"))
        self._films: dict[str, Writer] = {}
        self.positions_m: list[tuple[float, ...]] = [env.position_m]
        self.decisions = 0
        self.queries = 0
        self._steps = 0
        self._view_steps: list[int] = []
        self._first = 0

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *caught: Any) -> None:
        self._stack.__exit__(*caught)

    @property
    def frames(self) -> int:
        """Number of frames seen so far."""
        return self._films[SEEN].frames

    def keep_view(self) -> None:
        """Store what is seen now."""
        self._keep(SEEN, [self._env.observe().front])

    def keep_step(self) -> None:
        """Store where a step led, and what is seen of it."""
        self.positions_m.append(self._env.position_m)
        self._steps += 1
        views = self._env.views_of_step()
        self._keep(SEEN, views)
        self._view_steps += [self._steps] * len(views)

    def decided(self, step: LoopStep, asked: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Write the line of a decision."""
        past = step.past
        decision = past.decision
        sampled = step.number & (step.number - 1) == 0
        candidates = [
            self._candidate(
                each, decision.scores[n] if n < len(decision.scores) else None, step.true_values[n], sampled and n == 0
            )
            for n, each in enumerate(step.candidates)
        ]
        line = {
            "decision": step.number,
            **self._env.info(step.observation, len(past.executed), self._view_steps),
            "seen": [self._first, self.frames],
            "turned": step.turn_left_rad,
            "asked": step.imagined,
            "candidates": candidates,
            "chosen": decision.chosen,
            "plan": None if decision.plan is None else self._env.plain_plan(decision.plan),
            "executed": self._env.plain_actions(past.executed),
            "collided": list(past.collided),
            "answer": decision.answer,
            "confidence": decision.confidence,
            "notes": {**decision.notes, **{name: notes for name, notes in asked.items() if notes}},
            "end": step.reason,
        }
        self._lines.write(json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n")
        self.decisions += 1
        self._steps, self._view_steps, self._first = 0, [], self.frames - 1

    def _candidate(
        self, candidate: Candidate, score: float | None, true_value: float | None, sampled: bool
    ) -> dict[str, Any]:
        plan, rollout = candidate.plan, candidate.rollout
        kept = compared = None
        if rollout is not None:
            frames = [rollout.seen(frame) for frame in range(1, rollout.valid_len)]
            kept = self._keep(IMAGINED, frames)
            if sampled:
                compared = self._keep(COMPARED, frames[rollout.exact - 1 :])
        return {
            "steps": self._env.plain_plan(plan),
            "turn_left_rad": plan.turn_left_rad,
            "aim": plan.aim,
            "source": plan.source,
            "flags": list(plan.flags),
            "score": score,
            "true_value": true_value,
            "imagined": kept,
            "compared": compared,
            "exact": 0 if rollout is None else rollout.exact - 1,
            "aligned": True if rollout is None else rollout.aligned,
            "text": None if rollout is None else rollout.text or None,
            "renderer": self._env.text_renderer if rollout is not None and rollout.text else None,
            "anchors": None if rollout is None else list(rollout.anchors),
            "shown": None if rollout is None else self._shown(rollout),
        }

    def _shown(self, rollout: Rollout) -> list[float]:
        """Shares of the front view, across and down, that a frame shows: less than 1 where a model takes a crop."""
        own, whole = rollout.camera, self._env.camera
        return [own.width / own.fx * whole.fx / whole.width, own.height / own.fy * whole.fy / whole.height]

    def _keep(self, name: str, frames: Sequence[Image]) -> list[int] | None:
        """Append frames to a film, at the size of the views; from which to which they are, None for none."""
        if not frames:
            return None
        if name not in self._films:
            writer = Writer(self._folder / name, fps=NAV_STEPS.fps, kind="lossless" if name == COMPARED else "viewable")
            self._films[name] = self._stack.enter_context(writer)
        film, camera = self._films[name], self._env.camera
        first = film.frames
        for frame in frames:
            film.write(resize(frame, camera.width, camera.height))
        return [first, film.frames]


def read_trace(folder: Path) -> list[dict[str, Any]]:
    """The decisions of an episode, in order."""
    path = folder / TRACE
    try:
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(text) for text in file]
        if not all(isinstance(line, dict) for line in lines):
            raise ValueError("a line is no object")
        return lines
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); delete this record's folder and run again") from error
