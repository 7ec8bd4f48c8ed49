"""Pages and films of a replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import EpisodeFilms, Record, Score, Task, TaskDetails
from worldgauge.suites.worldinworld import drawing
from worldgauge.suites.worldinworld.drawing import ALARM, CHOSEN, FAINT, INK, FrameSheet
from worldgauge.suites.worldinworld.metrics import decision_regret
from worldgauge.suites.worldinworld.scoring import HEADLINE
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.suites.worldinworld.task_index import open_task
from worldgauge.suites.worldinworld.trace import IMAGINED, SEEN, read_trace


def task_details(task: Task, scores: Mapping[str, Sequence[Score]], settings: LoopSettings) -> TaskDetails:
    """Where each agent went, and how its episode ended."""
    paths: dict[str, FloatArray] = {}
    diagnostics = {}
    for label, own in scores.items():
        head = next((score for score in own if score.metric == HEADLINE), None)
        if head is None:
            continue
        paths[label] = np.array(head.facts["xy"], np.float64)
        told = {"ended": head.facts["end"], "success_pct": head.value}
        told |= {
            key: head.facts[key]
            for key in ("label", "confidence", "answer", "mark", "blind_answer", "blind_mark", "distance_m", "progress")
            if key in head.facts
        }
        diagnostics[label] = told
    return TaskDetails(paths=paths, diagnostics=diagnostics, caption=open_task(task, settings).caption)


WIDTH, MARGIN, GAP = 448, 8, 8
PANEL = (WIDTH - 2 * MARGIN - GAP) // 2
THUMB_PX = 62
GOAL_PX, GOAL_SHARE = 112, 3
"""Largest width of the goal's picture beside what was imagined, and the share of the height that it has at most."""
SHOWN = 3
"""Candidates; more are counted."""
WORDS = 2
"""Lines of the decision."""


def replay(record: Record, settings: LoopSettings) -> Clip:
    """The film of a record, WIDTH px wide; frames are drawn when they are read."""
    film = _EpisodeFilm(record, settings)
    return Clip(film, range(len(film.cues)), film.task.fps, (WIDTH, film.height))


def episode_films(record: Record) -> EpisodeFilms:
    """What the agent saw, and of the plans that were taken the imagined frames whose steps were taken, too."""
    seen, path = Clip.open(record.directory / SEEN), record.directory / IMAGINED
    try:
        pairs = [pair for line in read_trace(record.directory) for pair in _imagined_of(line)]
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"{record.directory}: a line of the trace is damaged ({error!r})") from None
    if not pairs or not path.exists():
        return EpisodeFilms(seen)
    return EpisodeFilms(seen, Clip.open(path).picked([one for one, _ in pairs], seen.fps), [at for _, at in pairs])


def _imagined_of(line: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Frames of the plan that a decision took, each with the frame that was then seen."""
    span = None if line["chosen"] is None else line["candidates"][line["chosen"]]["imagined"]
    if span is None:
        return iter(())
    # The frame before the first step is not imagined.
    return zip(range(*span), range(line["seen"][0] + bool(line["turned"]) + 1, line["seen"][1]), strict=False)


class _EpisodeFilm:
    """Draws frames. cues: (decision, step of it) of each frame; the decision after the last is the end."""

    def __init__(self, record: Record, settings: LoopSettings) -> None:
        self._record = record
        self._trace = read_trace(record.directory)
        self.task = open_task(record.task, settings)
        self._seen = Clip.open(record.directory / SEEN)
        path = record.directory / IMAGINED
        self._imagined = Clip.open(path) if path.exists() else None
        self._panel = PANEL, 2 * round(PANEL * self._seen.height / self._seen.width / 2)
        self._goal = self.task.goal_picture()
        self._asked = drawing.wrap_text(self.task.instruction, WIDTH - 2 * MARGIN)
        self.cues = [(n, k) for n, line in enumerate(self._trace) for k in range(len(_steps(line)) + 1)]
        self.cues.append((len(self._trace), 0))
        below = GAP + THUMB_PX + GAP + WORDS * drawing.LINE_PX + MARGIN
        self.height = 2 * round((self._top + self._panel[1] + below) / 2)

    def frame(self, index: int) -> Image:
        return next(self.read([index]))

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        cues = (self.cues[index] for index in indices)
        for number, steps in groupby(cues, key=lambda cue: cue[0]):
            draw = self._end() if number == len(self._trace) else self._decision(number)
            for _, step in steps:
                yield draw(step)

    def _decision(self, number: int) -> Callable[[int], Image]:
        """How the frames of one decision are drawn; its films are read once."""
        line = self._trace[number]
        first, last = line["seen"]
        seen = list(self._seen[first:last])
        if line["turned"]:
            del seen[0]  # the steps begin after the turn
        ends, dreamt = self._dreamt(line)

        def draw(step: int) -> Image:
            at = _steps(line)[step - 1] if step else 0
            sheet = self._sheet(f"decision {number + 1} of {len(self._trace)}" + (f", step {at}" if step else ""))
            y = self._top
            size = self._seen.width, self._seen.height
            view = self.task.marked(self._sized(seen[step]), self._trace, number, step, size)
            sheet.picture(view, MARGIN, y)
            met = bool(step and line["collided"][at - 1])
            sheet.note(_met(line, at) if met else "seen", MARGIN, y, ALARM if met else INK)
            self._right(sheet, line, dreamt, step, y)
            y += self._panel[1] + GAP
            self._candidates(sheet, line, ends, y)
            words = drawing.wrap_text("; ".join(_decided(line)), WIDTH - 2 * MARGIN)[:WORDS]
            for k, text in enumerate(words, 1):
                sheet.text(text, MARGIN, y + THUMB_PX + GAP + drawing.LINE_PX * k - 4)
            return sheet.done()

        return draw

    def _dreamt(self, line: Mapping[str, Any]) -> tuple[list[Image | None], list[Image]]:
        """The last imagined frame of every candidate, and all of the chosen one."""
        ends: list[Image | None] = []
        chosen: list[Image] = []
        for place, one in enumerate(line["candidates"]):
            if one["imagined"] is None or self._imagined is None:
                ends.append(None)
                continue
            first, last = one["imagined"]
            if place == line["chosen"]:
                chosen = [self._sized(frame) for frame in self._imagined[first:last]]
                ends.append(chosen[-1])
            else:
                ends.append(self._imagined[last - 1])
        return ends, chosen

    def _right(self, sheet: FrameSheet, line: Mapping[str, Any], dreamt: Sequence[Image], step: int, y: int) -> None:
        """Render the imagined view for this step, first the plan's end, with the goal image in a corner."""
        x = MARGIN + self._panel[0] + GAP
        if line is self._trace[0] and step == 0 and self._goal is not None:
            goal = _across(self._goal, self._panel[0])
            sheet.picture(goal, x, y + (self._panel[1] - goal.shape[0]) // 2)
            sheet.note(self.task.goal_words, x, y)
            return
        if not dreamt or step > len(dreamt):
            sheet.empty(x, y, *self._panel)
            sheet.note("the generated part ends here" if dreamt else "nothing generated", x, y, FAINT)
        else:
            sheet.picture(dreamt[step - 1], x, y)
            real = 0 < step <= line["candidates"][line["chosen"]]["exact"]
            said = "the real view, turned" if real else f"imagined by {self._record.model}"
            sheet.note(said if step else f"{said}: the end of the plan", x, y)
        if self._goal is not None:
            # Above, where a view shows the wall and a table nothing: what is imagined happens below.
            width, height = self._goal.shape[1], self._goal.shape[0]
            small = _across(self._goal, min(GOAL_PX, self._panel[1] * width // (GOAL_SHARE * height)))
            sheet.picture(small, x + self._panel[0] - small.shape[1], y + drawing.LINE_PX, INK)

    def _candidates(self, sheet: FrameSheet, line: Mapping[str, Any], ends: Sequence[Image | None], y: int) -> None:
        wide = (WIDTH - 2 * MARGIN - (SHOWN - 1) * GAP) // SHOWN
        for n in _shown(line):
            one = line["candidates"][n]
            place = _shown(line).index(n)
            x = MARGIN + place * (wide + GAP)
            colour = CHOSEN if n == line["chosen"] else FAINT
            end = ends[n]
            if end is None:
                sheet.empty(x, y, THUMB_PX, THUMB_PX)
            else:
                sheet.picture(_square(end), x, y, colour)
            left = x + THUMB_PX + 5
            if isinstance(one["steps"], str):
                sheet.plan(one["steps"], one["turn_left_rad"], left, y + 1, wide - THUMB_PX - 5, colour)
            else:
                sheet.text(f"{len(one['steps'])} poses", left, y + 14, colour, drawing.SMALL)
            if one["score"] is not None:
                sheet.text(f"score {_short(one['score'])}", left, y + 38, INK)
            sheet.text(f"truly {_short(one['true_value'])}", left, y + 56, FAINT)

    def _end(self) -> Callable[[int], Image]:
        def draw(_: int) -> Image:
            sheet = self._sheet("the end")
            y = self._top
            last = self._sized(self._seen[len(self._seen) - 1])
            sheet.picture(last, MARGIN, y)
            sheet.note("seen last", MARGIN, y)
            x = MARGIN + self._panel[0] + GAP
            for k, text in enumerate(self._outcome()):
                for part in drawing.wrap_text(text, self._panel[0] - GAP):
                    sheet.text(part, x, y + drawing.LINE_PX, INK if k else CHOSEN)
                    y += drawing.LINE_PX
                y += 4
            return sheet.done()

        return draw

    @property
    def _top(self) -> int:
        return MARGIN + drawing.LINE_PX * (len(self._asked) + 1)

    def _sheet(self, where: str) -> FrameSheet:
        sheet = FrameSheet(WIDTH, self.height)
        for k, text in enumerate(self._asked):
            sheet.text(text, MARGIN, MARGIN + drawing.LINE_PX * (k + 1) - 6)
        sheet.text(where, MARGIN, MARGIN + drawing.LINE_PX * (len(self._asked) + 1) - 6, FAINT)
        return sheet

    def _sized(self, frame: Image) -> Image:
        return resize(frame, *self._panel)

    def _outcome(self) -> Iterator[str]:
        """What came of it, a line each."""
        facts = self._record.facts
        yield self.task.end_words(str(facts["end"]))
        yield from self.task.outcome_words(facts)
        yield f"{facts['steps']} steps, {facts['decisions']} decisions, {facts['calls']} rollouts"


def _steps(line: Mapping[str, Any]) -> list[int]:
    """Which step, from 1, each frame after the decision shows: one a step, of an arm several on the way to a pose."""
    return list(line.get("under_way") or range(1, len(line["executed"]) + 1))


def _met(line: Mapping[str, Any], step: int) -> str:
    """What a step met."""
    reason = line["reasons"][step - 1] if "reasons" in line else None
    return str(reason) if reason else "bumped into something"


def _across(picture: Image, width: int) -> Image:
    """`picture` at `width` px, its shape kept."""
    return resize(picture, width, round(width * picture.shape[0] / picture.shape[1]))


def _shown(line: Mapping[str, Any]) -> list[int]:
    """The first candidates, the chosen one among them."""
    places = list(range(len(line["candidates"])))
    kept = places[:SHOWN]
    if line["chosen"] in places[SHOWN:]:
        kept[-1] = line["chosen"]
    return kept


def _square(frame: Image) -> NDArray[np.uint8]:
    side = min(frame.shape[:2])
    top, left = (frame.shape[0] - side) // 2, (frame.shape[1] - side) // 2
    return resize(np.ascontiguousarray(frame[top : top + side, left : left + side]), THUMB_PX, THUMB_PX)


def _decided(line: Mapping[str, Any]) -> Iterator[str]:
    """Parts of a sentence."""
    candidates, chosen = line["candidates"], line["chosen"]
    hidden = len(candidates) - len(_shown(line))
    if chosen is None:
        yield "takes a plan of its own" if line["plan"] else "takes no plan"
    else:
        yield f"takes {_ordinal(chosen)} of {len(candidates)} plans" + (f" ({hidden} not shown)" if hidden else "")
        aim = candidates[chosen]["aim"]
        if aim and aim.get("text"):
            yield str(aim["text"])
    if line["answer"] is not None:
        sure = "" if line["confidence"] is None else f" ({line['confidence']:.0%} sure)"
        yield f"answer: {line['answer']}{sure}"
    regret = decision_regret([one["true_value"] for one in candidates], chosen) if len(candidates) > 1 else None
    if regret is not None:
        yield "the best of them" if regret == 0 else f"regret {_short(regret)}"


def _ordinal(place: int) -> str:
    return ("the first", "the second", "the third")[place] if place < 3 else f"number {place + 1}"


def _short(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value + 0.0:.2f}".replace("-0.00", "0.00")
