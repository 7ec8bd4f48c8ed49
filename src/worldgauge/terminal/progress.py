"""Progress on stderr: one bar on a terminal, otherwise a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from worldgauge.terminal.layout import terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worldgauge.engine.model_run import RunStep

SECONDS = 30.0
"""Without a terminal, a line every tenth of the way, and after this time where something was done in it."""
WIDE_ENOUGH = 70
"""Narrower terminals have the numbers without the bar."""


class ProgressBar:
    """One bar on a terminal with the rate and the time left; otherwise a line now and then."""

    def __init__(self, verbose: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._terminal = self._console.is_terminal and not self._console.is_dumb_terminal
        self._verbose = verbose
        bar = [BarColumn(bar_width=20), TimeElapsedColumn()] if terminal_width() >= WIDE_ENOUGH else []
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            *bar,
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
            disable=not self._terminal,
        )
        self._task = self._progress.add_task("", total=None, visible=False)
        self._what = ""
        self._told = 0.0
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, what: str, done: float, total: int, doing: str = "") -> None:
        """Show how far it is."""
        known = total if total > 0 and done <= total else None
        if what != self._what:
            self._what, self._told, self._told_at = what, 0.0, time.monotonic()
            # What an earlier run has done counts for nothing in the rate.
            self._progress.reset(self._task, description=what, completed=int(done), visible=True)
        self._progress.tasks[0].total = known  # `update` cannot take a total back
        self._progress.update(self._task, completed=done, description=f"{what} {doing}".rstrip())
        if not self._terminal and not self._verbose:
            share = f", {done / known:.0%}" if known else ""
            self._tell(f"{what}{share}" + (f": {doing}" if doing else ""), done, known)

    def warn(self, text: str) -> None:
        """Print a line on what went wrong, above the bar."""
        self._console.print(text, markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a line on one item, where every item gets one."""
        if self._verbose:
            self.warn(text)

    def _tell(self, said: str, done: float, total: int | None) -> None:
        """Print a line if there is enough news since the last one."""
        now = time.monotonic()
        far = total is not None and _tenths(done / total) > _tenths(self._told / total)
        if far or (now - self._told_at >= SECONDS and done > self._told):
            self.warn(f"[{counted_of(done, total)}] {said}")
            self._told, self._told_at = done, now


class RunProgress(ProgressBar):
    """Shows the steps of a run: how many tasks of all models have ended."""

    def __init__(self, notes: Sequence[str] = (), *, verbose: bool = False) -> None:
        super().__init__(verbose)
        self._notes = list(notes)
        self._counts: dict[str, tuple[int, int]] = {}
        self._begun: dict[tuple[str, str], float] = {}

    def __call__(self, step: RunStep) -> None:
        """Show one step."""
        while self._notes:
            self.warn(self._notes.pop(0))
        place = f"[{counted_of(step.finished, step.expected)}] {step.model} {step.task}"
        self._counts[step.model] = (step.finished, step.expected)
        if step.note:
            self.warn(step.note)
        if step.task is None:
            return
        if step.preparing and step.frames is not None:
            self.show(step.task, *step.frames)
            return
        if step.status is not None:
            self._begun.pop((step.model, step.task), None)
        elif step.frames is not None:
            # A total of 0 is not known: in a loop nobody knows how many decisions there will be.
            done, total = step.frames
            self._begun[step.model, step.task] = done / total if total else 0.0
        for error in step.lost:
            self.warn(f"{place} lost and asked again: {error}")
        if step.status == "failed":
            self.warn(f"{place} failed: {step.error}")
        elif step.status is not None:
            self.note(f"{place} {step.status}" + (f": {step.error}" if step.error else ""))
        done = sum(finished for finished, _ in self._counts.values())
        self.show("tasks", done + sum(self._begun.values()), sum(expected for _, expected in self._counts.values()))


def counted_of(done: float, total: int | None) -> str:
    """How many of how many, such as "3/8"; a total of 0, or below what is done, is not known."""
    return f"{int(done)}/{total}" if total and done <= total else f"{int(done)}"


def _tenths(share: float) -> int:
    return int(10 * share + 1e-9)


class _RateColumn(ProgressColumn):
    """How many are done in a second, or how long one takes."""

    def render(self, task: Task) -> Text:
        """The rate as text; empty until it is known."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each", "progress.data.speed")
