"""What the command line shows: progress on stderr; tables and lists, or one JSON object, on stdout."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from worldgauge.cli_tables import headline, out, overview
from worldgauge.engine.store import dumps

if TYPE_CHECKING:
    from worldgauge.engine.collect import Collected, CollectProgress
    from worldgauge.engine.metric_study import MetricStudy
    from worldgauge.engine.result import RunResult
    from worldgauge.engine.run import Plan
    from worldgauge.engine.videos import Shelf
    from worldgauge.engine.work import Step
    from worldgauge.registry import Registry
    from worldgauge.suites.closedloop.studies import Finding

SHOWN = 5
"""Failures and skips printed in full; the rest is counted."""
_ITEMS = {
    "loopnav": "loops",
    "target": "scenarios",
    "mind": "clips and start images",
    "closedloop": "episodes",
    "build": "structures, figures and rooms",
}
_PICTURES = {"build": "pictures"}
"""What is counted beside them, where it is not frames."""
_FIRST = {"build": "--agent reader"}
"""A subject to begin with, where it is not a model."""


class Study(Protocol):
    """What a study of a metric found. accepted: whether it keeps its bounds."""

    @property
    def accepted(self) -> bool:
        """Whether all bounds are kept."""
        ...

    def table(self) -> str:
        """All of it for people."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        ...


class Bars:
    """Bars on a terminal; elsewhere one line for each thing that has ended."""

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
        """Show a bar, new or old, at `done`."""
        if name not in self._ids:
            self._ids[name] = self._bars.add_task(escape(name), total=total)
        self._bars.update(self._ids[name], completed=done, total=total)

    def drop(self, name: str) -> None:
        """Remove a bar."""
        if name in self._ids:
            self._bars.remove_task(self._ids.pop(name))

    def line(self, text: str, always: bool = False) -> None:
        """A line above the bars; on a terminal only what matters (`always`)."""
        if always or not self._console.is_terminal:
            self._console.print(text, markup=False, soft_wrap=True)


class Running(Bars):
    """Shows the steps of a run: a bar for each subject, and one for each task in hand."""

    def __call__(self, step: Step) -> None:
        """One step."""
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


class Collecting(Bars):
    """Shows how far a collection for a benchmark is."""

    def __init__(self, benchmark: str) -> None:
        super().__init__()
        self._items = _ITEMS[benchmark]

    def __call__(self, step: CollectProgress) -> None:
        """One step."""
        self.bar(self._items, step.done, step.total)
        self.line(f"[{step.done}/{step.total}] {step.last}")


def result(run: RunResult, json: bool, **more: Any) -> None:
    """Tables, counts, failures, and what to type next. JSON: directory is null where the runs lie in several.

    more: further facts for the JSON object.
    """
    counts = run.counts
    tables = run.table() if counts.scored else []
    if json:
        _object(
            suite=run.suite.name,
            directory=str(run.directory) if len(run.parents) == 1 else None,
            runs={
                name: {"directory": str(run.directories[name]), "counts": asdict(each)}
                for name, each in run.subject_counts.items()
            },
            counts=asdict(counts),
            failures=[asdict(one) for one in run.failures],
            skips=[asdict(one) for one in run.skips],
            tables=[asdict(table) for table in tables],
            ok=run.ok,
            **more,
        )
        return
    if tables:
        headline(tables[0])
        for note in tables[0].notes:
            out.print(note, style="dim", markup=False)
        if len(tables) > 1:
            overview(tables)
    for name, each in run.subject_counts.items():
        out.print(f"{name}: {each}", markup=False, soft_wrap=True)
    endings("failed", [(f"{one.subject} {one.task}", one.error) for one in run.failures])
    endings("skipped", [(f"{one.subject} {one.task}", one.error) for one in run.skips])
    if run.failures:
        out.print("The same command tries the failed ones again.")
        first = run.failures[0]
        where = run.directories[first.subject]
        logs = where.parent / "logs"
        printed = f"; what is printed is in {logs}" if logs.is_dir() else ""
        out.print(f"Traces are in {where}/records/TASK/record.json{printed}.", markup=False, soft_wrap=True)
    page = [] if counts.unscored else ["--out", run.directory / "report.html"]
    follow = ["worldgauge", "score" if counts.unscored else "report", *run.parents, *page]
    out.print(f"next: {shlex.join(map(str, follow))}", markup=False, soft_wrap=True)


def unused_videos(shelf: Shelf) -> None:
    """On stderr: videos that no task asks for, by what is known where they lie, and sub-folders without any."""
    for name in shelf.empty:
        print(f"{name}: holds no video", file=sys.stderr)
    for name, places in shelf.elsewhere.items():
        where = f"{sum(places.values())} videos are of tests that were not asked for ({_some(list(places))})"
        print(f"{name}: {where}", file=sys.stderr)
    for name, left in shelf.strays.items():
        groups: dict[tuple[str, ...], list[str]] = {}
        for id in left:
            groups.setdefault(shelf.known[id], []).append(id)
        for known, ids in list(groups.items())[:SHOWN]:
            there = ", ".join(known[:3]) + (", ..." if len(known) > 3 else "")
            hint = f"; known there: {there}" if known else ""
            print(f"{name}: {len(ids)} videos match no task: {_some(ids)}{hint}", file=sys.stderr)
        if more := sum(map(len, list(groups.values())[SHOWN:])):
            print(f"{name}: {more} more videos match no task, in other places", file=sys.stderr)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def plans(found: Sequence[Plan], json: bool) -> None:
    """What a run would do."""
    listed: list[dict[str, Any]] = []
    for plan in found:
        todo = Counter(item.todo for item in plan.items)
        kept = _kept(plan, "failed")
        skips = [{"task": item.task.id, "reason": item.task.skip} for item in plan.items if item.todo == "skip"]
        listed.append(
            {
                "subject": plan.label,
                "directory": str(plan.directory),
                "expected": len(plan.items),
                "ask": todo["ask"],
                "score_only": todo["score"],
                "done_already": len(_kept(plan, "done")),
                "kept_failed": kept,
                "skipped": skips + _kept(plan, "skipped"),
                "tasks": [item.task.id for item in plan.items if item.todo in ("ask", "score")],
            }
        )
    if json:
        _object(plans=listed)
        return
    for one in listed:
        kept_failed = f", {len(one['kept_failed'])} failed and kept" if one["kept_failed"] else ""
        out.print(
            f"{one['subject']}: {one['expected']} tasks expected, {one['done_already']} done already, {one['ask']} to "
            f"ask, {one['score_only']} only to score, {len(one['skipped'])} skipped"
            f"{kept_failed}; into {one['directory']}",
            markup=False,
            soft_wrap=True,
        )
        endings("failed", [(kept["task"], kept["reason"]) for kept in one["kept_failed"]])
        endings("skipped", [(skip["task"], skip["reason"]) for skip in one["skipped"]])


def _kept(plan: Plan, status: str) -> list[dict[str, Any]]:
    """Tasks that ended so in an earlier run and stay as they are, with the reason."""
    return [
        {"task": item.task.id, "reason": item.line["error"]}
        for item in plan.items
        if item.todo == "nothing" and item.line is not None and item.line["status"] == status
    ]


def collection_plan(
    benchmark: str, folder: Path, arguments: Mapping[str, Any], count: tuple[int, int], json: bool
) -> None:
    """What a collection would do. count: items expected, and done already."""
    expected, done = count
    if json:
        _object(out=str(folder), expected=expected, done_already=done, settings=dict(arguments))
    else:
        items = _ITEMS[benchmark]
        out.print(f"{expected} {items} expected, {done} done already; into {folder}", markup=False, soft_wrap=True)


def collected(benchmark: str, found: Collected, json: bool) -> None:
    """What a collection holds."""
    if json:
        _object(**{**asdict(found), "root": str(found.root), "ok": not found.failures})
        return
    print(
        f"{found.root}: {found.trajectories} {_ITEMS[benchmark]}, {found.frames} {_PICTURES.get(benchmark, 'frames')}"
    )
    for reason, count in found.discarded.items():
        print(f"  {count} tries thrown away: {reason}")
    endings("failed", [("", failure) for failure in found.failures])
    first = _FIRST.get(benchmark, "--model freeze")
    print(f"next: worldgauge run {benchmark} --data {found.root} {first} --out runs/first")


def written(page: Path, json: bool) -> None:
    """Where the report is."""
    if json:
        _object(page=str(page))
    else:
        print(f"{page}: open it in a browser")


def found(finding: Finding, page: Path, json: bool) -> None:
    """What came of a study of the closed loop, and where its page is."""
    if json:
        _object(
            page=str(page),
            study=finding.study.name,
            question=finding.study.question,
            tables=[asdict(table) for table in finding.tables],
            gains=[asdict(gain) for gain in finding.gains],
            correlation=None if finding.correlation is None else finding.correlation._asdict(),
            words=list(finding.words),
        )
        return
    for table in finding.tables:
        headline(table)
        for note in table.notes:
            out.print(note, style="dim", markup=False)
    for sentence in finding.words:
        out.print(sentence, markup=False)
    written(page, json)


def trained(path: Path, facts: Mapping[str, Any], use: str, json: bool) -> None:
    """How well a recogniser does, and where it is. use: what to set so that it is taken, where that is needed."""
    if json:
        _object(recogniser=str(path), **facts)
        return
    out.print(
        f"{path}: {facts['accuracy']:.0%} of {facts['validated_on']['boxes']} boxes in validation homes are named "
        f"rightly, {facts['calibration_error']:.3f} off in confidence",
        markup=False,
        soft_wrap=True,
    )
    if use:
        out.print(f"runs take it with {use}", markup=False, soft_wrap=True)


def exported(files: list[Path], json: bool) -> None:
    """Where the result files are."""
    if json:
        _object(files=[str(file) for file in files])
    else:
        for file in files:
            print(file)


def entries(kind: str, registry: Registry[Any], json: bool) -> None:
    """Name, summary and origin of all that is registered."""
    listed = [
        {"name": entry.name, "summary": entry.summary, "origin": entry.origin, "facts": dict(entry.facts)}
        for entry in registry
    ]
    if json:
        _object(**{kind: listed})
        return
    grid = Grid(box=None, pad_edge=False)
    for column in ("name", "summary", "origin"):
        grid.add_column(column, overflow="fold")
    for one in listed:
        grid.add_row(*(escape(str(one[column])) for column in ("name", "summary", "origin")))
    out.print(grid)


def adapters(known: Mapping[str, str], json: bool) -> None:
    """The adapters there are, and how one is had."""
    if json:
        _object(adapters=dict(known))
        return
    width = max(map(len, known))
    for name, summary in known.items():
        out.print(f"{name:{width}}  {summary}", markup=False, soft_wrap=True)
    out.print("copy one: worldgauge adapters NAME --out DIR", soft_wrap=True)


def handed_out(copies: Sequence[Path], json: bool) -> None:
    """What was copied, and what to type next."""
    if json:
        _object(files=[str(path) for path in copies])
        return
    for path in copies:
        out.print(f"wrote {path}", soft_wrap=True, markup=False)
    out.print(f"its first lines say how it is used: {copies[0]}", soft_wrap=True, markup=False)


def studied(found: Study, json: bool) -> bool:
    """A study of a metric; True when it keeps its bounds."""
    if json:
        _object(**found.to_json())
    else:
        print(found.table())
    return found.accepted


def examined(findings: Sequence[Mapping[str, Any]], *, json: bool) -> bool:
    """What a part needs, line by line; True when all that is needed is here."""
    ok = all(one["well"] or not one["needed"] for one in findings)
    if json:
        _object(ok=ok, findings=list(findings))
        return ok
    for one in findings:
        state = "ok" if one["well"] else "MISSING" if one["needed"] else "absent"
        print(f"{state:7} {one['part']}: {one['told']}")
    return ok


def metrics_studied(found: MetricStudy, page: Path | None, json: bool) -> None:
    """What each metric sees, what can be said of it, and where its page is, if one was written."""
    from worldgauge.engine.metric_study import conclusions, tables

    if json:
        _object(**found.to_json(), page=None if page is None else str(page))
        return
    print(tables(found), *conclusions(found), sep="\n")
    if page is not None:
        written(page, json)


def endings(status: str, listed: Sequence[tuple[str, str]]) -> None:
    """How items ended, (name, why) each, the first of them by name; a name may be empty."""
    for name, why in listed[:SHOWN]:
        out.print(f"  {status} {name}: {why}" if name else f"  {status} {why}", markup=False, soft_wrap=True)
    if len(listed) > SHOWN:
        out.print(f"  and {len(listed) - SHOWN} more {status}")


def _object(**facts: Any) -> None:
    sys.stdout.write(dumps(facts) + "\n")
