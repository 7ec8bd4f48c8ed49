"""The trace of an episode: a line a decision, the frames that were seen, and those that were imagined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.image import Image
from worldgauge.core.video import Writer, resize
from worldgauge.suites.closedloop import imagination as imagining
from worldgauge.suites.closedloop.loop import Step
from worldgauge.suites.closedloop.manipulation import imagination as imagining_table
from worldgauge.suites.closedloop.manipulation.episode import plan_fault
from worldgauge.suites.closedloop.manipulation.place import Refused, TablePlace, TableSight
from worldgauge.suites.closedloop.policies.contract import Candidate, Plan, Rollout, letters
from worldgauge.suites.closedloop.simulator import Sight, Simulator
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive

TRACE, SEEN, IMAGINED, COMPARED = "trace.jsonl", "seen.mp4", "imagined.mp4", "compared.mp4"


class Tracer:
    """Writes a trace as the loop goes; use it as a context manager.

    SEEN has the front view before each decision and after each step (of an arm also on the way), IMAGINED the
    frames of the plan of every rollout (frame 0 and padding left out), both for people to look at. COMPARED has
    some of the latter again, lossless, for the metrics: of the first candidate at the decisions 0, 1, 2, 4, 8, ...,
    those frames that the model itself drew.
    """

    def __init__(self, folder: Path, place: Simulator | TablePlace) -> None:
        self._folder = folder
        self._place = place
        self._stack = ExitStack()
        self._lines = self._stack.enter_context((folder / TRACE).open("w", encoding="utf-8"))
        self._films: dict[str, Writer] = {}
        self.places: list[tuple[float, ...]] = [self._where]
        self.decisions = 0
        self.queries = 0
        self._under_way: list[int] = []

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *caught: Any) -> None:
        self._stack.__exit__(*caught)

    @property
    def frames(self) -> int:
        """Of what was seen, so far."""
        return self._films[SEEN].frames

    @property
    def _where(self) -> tuple[float, ...]:
        """Metres: of a walker x and y, of a hand x, y and z."""
        return tuple(self._place.hand[:3] if isinstance(self._place, TablePlace) else self._place.stance[:2])

    def look(self) -> None:
        """Keep what is seen now."""
        self._keep(SEEN, [self._place.observe().front])

    def stepped(self) -> None:
        """Keep where a step led, and what is seen there; of an arm, also on the way."""
        self.places.append(self._where)
        if isinstance(self._place, TablePlace):
            seen = self._place.clip(self._place.seen)
            self._keep(SEEN, list(seen))
            self._under_way += [len(self.places) - 1] * len(seen)
        else:
            self.look()

    def decided(self, step: Step, asked: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Write the line of a decision; asked: of a language model, beside what the decision itself tells."""
        past = step.past
        decision = past.decision
        first = self.frames - self._looks(step) - 1
        sampled = step.number & (step.number - 1) == 0
        candidates = [
            self._candidate(
                each,
                decision.scores[n] if n < len(decision.scores) else None,
                step.true_values[n],
                sampled and n == 0,
            )
            for n, each in enumerate(step.candidates)
        ]
        line = {
            "decision": step.number,
            **self._situation(step),
            "seen": [first, self.frames],
            "turned": step.turn_left_rad,
            "asked": step.imagined,
            "candidates": candidates,
            "chosen": decision.chosen,
            "plan": None if decision.plan is None else _steps_of(decision.plan),
            "executed": _written(past.executed),
            "collided": list(past.collided),
            "answer": decision.answer,
            "confidence": decision.confidence,
            "notes": {**decision.notes, **{name: notes for name, notes in asked.items() if notes}},
            "end": step.reason,
        }
        self._lines.write(json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n")
        self.decisions += 1

    def _looks(self, step: Step) -> int:
        """Frames of SEEN since the decision was made."""
        if isinstance(self._place, TablePlace):
            return len(self._under_way)
        return len(step.past.executed) + (step.turn_left_rad != 0)

    def _situation(self, step: Step) -> dict[str, Any]:
        """Where it was decided, and of an arm how its poses ended: what it takes to look at it again."""
        if isinstance(step.observation, Sight):
            return {"stance": list(step.observation.stance)}
        assert isinstance(step.observation, TableSight)
        assert isinstance(self._place, TablePlace)
        count = len(step.past.executed)
        begun = len(self._place.reasons) - count
        under_way, self._under_way = [number - begun for number in self._under_way], []
        return {
            "hand": list(step.observation.hand),
            "state": step.observation.state.plain(),
            "reasons": self._place.reasons[begun:],
            "under_way": under_way,
        }

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
            "steps": _steps_of(plan),
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
            "seed": None if rollout is None else rollout.seed,
            "text": None if rollout is None else rollout.text or None,
            "renderer": self._renderer if rollout is not None and rollout.text else None,
            "anchors": None if rollout is None else list(rollout.anchors),
            "shown": None if rollout is None else self._shown(rollout),
        }

    def _shown(self, rollout: Rollout) -> list[float]:
        """Shares of the front view, across and down, that a frame shows: less than 1 where a model takes a crop."""
        own, whole = rollout.camera, self._place.camera
        return [own.width / own.fx * whole.fx / whole.width, own.height / own.fy * whole.fy / whole.height]

    @property
    def _renderer(self) -> str:
        return imagining_table.TEXT if isinstance(self._place, TablePlace) else imagining.TEXT

    def _keep(self, name: str, frames: list[Image]) -> list[int] | None:
        """Append frames to a film, at the size of the views; from which to which they are, None for none."""
        if not frames:
            return None
        if name not in self._films:
            writer = Writer(self._folder / name, fps=NAV_STEPS.fps, kind="lossless" if name == COMPARED else "viewable")
            self._films[name] = self._stack.enter_context(writer)
        film, camera = self._films[name], self._place.camera
        first = film.frames
        for frame in frames:
            film.write(resize(frame, camera.width, camera.height))
        return [first, film.frames]


def read_trace(folder: Path) -> list[dict[str, Any]]:
    """The decisions of an episode, in order. Raises DataError when the file is gone or broken."""
    path = folder / TRACE
    try:
        return list(_lines(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); delete this record's folder and run again") from error


def _steps_of(plan: Plan) -> str | list[list[float]]:
    """A plan as letters, or as poses; none of one that is none."""
    if not plan.poses:
        return letters(plan.steps)
    return [] if plan_fault(plan.poses, len(plan.poses)) is not None else _written(plan.poses)


def _written(executed: Sequence[Any]) -> Any:
    """Primitives as letters, poses as lists of 8 numbers; one that was refused as an empty one."""
    if any(not isinstance(one, Primitive) for one in executed):
        return [[] if isinstance(one, Refused) else [float(value) for value in one] for one in executed]
    return letters(tuple(executed))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if not isinstance(line, Mapping):
                raise ValueError("a line is no object")
            yield dict(line)
