"""Progress on stderr: bars on a terminal, otherwise one line per finished item."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from worldgauge.engine.subject_run import RunStep


class Bars:
    """Bars on a terminal; otherwise one line per finished item."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._ids: dict[str, TaskID] = {}

    def __enter__(self) -> Any:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def bar(self, name: str, done: int, total: int) -> None:
        """Show a new or existing bar at `done` of `total`."""
        if name not in self._ids:
            self._ids[name] = self._bars.add_task(escape(name), total=total)
        self._bars.update(self._ids[name], completed=done, total=total)

    def drop(self, name: str) -> None:
        """Remove a bar."""
        if name in self._ids:
            self._bars.remove_task(self._ids.pop(name))

    def line(self, text: str, always: bool = False) -> None:
        """Print a line above the bars. On a terminal only lines with `always` are printed."""
        if always or not self._console.is_terminal:
            self._console.print(text, markup=False, soft_wrap=True)


class Running(Bars):
    """Shows the steps of a run: one bar per subject, and one per task in progress."""

    def __call__(self, step: RunStep) -> None:
        """Show one step."""
        self.bar(step.subject, step.finished, step.expected)
        name = f"  {step.subject} {step.task}"
        if step.status is not None:
            self.drop(name)
            why = f": {step.error}" if step.error else ""
            place = f"[{step.finished}/{step.expected}]"
            for error in step.lost:
                self.line(f"{place} {step.subject} {step.task} lost and asked again: {error}", always=True)
            self.line(f"{place} {step.subject} {step.task} {step.status}{why}", always=step.status == "failed")
        elif step.frames is not None:
            self.bar(name, *step.frames)
            if step.frames[0] == step.frames[1]:
                self.drop(name)
