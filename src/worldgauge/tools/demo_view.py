"""The view of a running demo on a terminal, and the page that leads to its reports."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from worldgauge.engine.store import atomic_write
from worldgauge.engine.suite.base import suites
from worldgauge.report.overview import INDEX, write_overview
from worldgauge.terminal.output import interval, number
from worldgauge.tools.demo import STAGES, Demo, DemoPart

BAR_COLUMNS = 16
REPRESENTS = "represents your model"
NARROW = 60
"""Columns of a terminal below which there is no room for bars."""


class DemoView:
    """Shows a demo while it runs, and its tables as soon as they are there."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._shown: set[str] = set()

    def __enter__(self) -> DemoView:
        count = len(self._demo.parts)
        self._print(f"{count} suites, {self._demo.slots} at a time, into {self._demo.folder}")
        if self._console.is_terminal:
            self._live = Live(self._picture(), console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, demo: Demo) -> None:
        """Show the present state."""
        for part in demo.parts:
            if part.ended is not None and part.suite not in self._shown:
                self._shown.add(part.suite)
                self._print(ending(part, self._console.width))
        if self._live is not None:
            self._live.update(self._picture())

    def end(self, page: Path, commands: Sequence[str]) -> None:
        """Print where the page is, and how to go on."""
        took = time.monotonic() - self._demo.started
        out = Console(highlight=False, soft_wrap=True)
        out.print(f"{page}: open it in a browser ({clock(took)})", markup=False)
        for line in ("next, a model of your own:", *(f"  {command}" for command in commands)) if commands else ():
            out.print(line, markup=False)

    def _print(self, what: RenderableType) -> None:
        self._console.print(what, markup=False, soft_wrap=isinstance(what, str))

    def _picture(self) -> Group:
        """One line per suite, then the time."""
        wide = self._console.width >= NARROW
        grid = Grid.grid(padding=(0, 1))
        for _ in range(2):
            grid.add_column(no_wrap=True)
        if wide:
            grid.add_column(width=BAR_COLUMNS)
        for part in self._demo.parts:
            bar: Sequence[Any] = (ProgressBar(total=1.0, completed=part.share, width=BAR_COLUMNS),) if wide else ()
            grid.add_row(Text(part.suite, style="bold" if part.started and not part.ended else ""), doing(part), *bar)
        left = self._demo.seconds_left()
        passed = clock(time.monotonic() - self._demo.started)
        return Group(grid, Text(f"{passed} so far, {'' if left is None else 'about '}{clock(left)} left", style="dim"))


def doing(part: DemoPart) -> str:
    """What a part is doing, in a few words."""
    if part.ended is not None:
        return "failed" if part.error else "done"
    if part.stage < 0:
        return "waiting"
    return f"{STAGES[part.stage]} {part.done}/{part.total}" if part.total > 1 else STAGES[part.stage]


def ending(part: DemoPart, width: int) -> RenderableType:
    """What is printed of a part that has ended: its headline table, or why there is none."""
    if part.card is None:
        return Text(f"{part.suite}: failed: {part.error}")
    card = part.card
    better = {"higher": ", higher is better", "lower": ", lower is better"}.get(card["better"], "")
    unit = "" if card["unit"] in ("1", "") else f" [{card['unit']}]"
    grid = Grid(box=None, pad_edge=False, show_header=False)
    grid.add_column(overflow="fold")
    for _ in range(3 if width >= NARROW else 2):
        grid.add_column(justify="right", no_wrap=True)
    for row in card["rows"]:
        cells = (number(row["mean"]), Text(interval(row["low"], row["high"])), f"n={row['n']}")
        mark = f" ({REPRESENTS})" if row["label"] in card["tested"] else ""
        grid.add_row(Text(f"  {row['label']}{mark}", overflow="fold"), *cells[: len(grid.columns) - 1])
    took = "" if part.started is None or part.ended is None else f" ({clock(part.ended - part.started)})"
    title = Text(f"{part.suite}{took}: {card['title']}{unit}{better}", style="bold")
    return Group(title, grid, Text(f"  {card['verdict']}"))


def clock(seconds: float | None) -> str:
    """A time in words, such as 2 min 05 s; "?" for an unknown one."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"


OWN_MODEL = "my_model.py"


def write_index(demo: Demo) -> Path:
    """Write the page of a demo, and a model to start from unless there is one."""
    starter = demo.folder / OWN_MODEL
    if not starter.exists():
        atomic_write(starter, (files(__package__) / "demo_model.txt").read_text("utf-8"))
    full = ", full" if demo.full else ""
    return write_overview(
        demo.folder / INDEX,
        [_card(part) for part in demo.parts],
        heading="What is a world model worth?",
        lead=f"{len(demo.parts)} suites, each on a small data set made here, next to baselines of known quality. In "
        "each, one built-in model represents yours. A number is a mean with its 95 % interval.",
        eyebrow=f"demo{full}",
        chip=REPRESENTS,
        next_heading="Next: a model of your own",
        next_lead="my_model.py in this folder is a model to start from. These commands put it into the tables.",
        commands=commands_for_own_model(demo),
    )


def commands_for_own_model(demo: Demo) -> list[str]:
    """Commands that put a model of one's own into the tables of the demo, as they can be pasted."""
    part = next((one for one in demo.parts if one.card and suites.get(one.suite).answerer_kind == "model"), None)
    if part is None:
        return []
    model = f"{demo.folder / OWN_MODEL}:MyModel"
    settings = [word for name, value in part.shown.settings.items() for word in ("--set", f"{name}={value}")]
    runs = str(part.folder / "runs")
    data, page = str(part.folder / "data"), str(part.folder / "report.html")
    run = ["worldgauge", "run", part.suite, "--data", data, "--model", model, *settings, "--out", runs]
    return [shlex.join(run), shlex.join(["worldgauge", "report", runs, "--out", page])]


def _card(part: DemoPart) -> dict[str, Any]:
    """What the page shows of a part."""
    missing = {"suite": part.suite, "question": part.shown.question, "error": part.error or "not run yet"}
    return dict(part.card or missing)
