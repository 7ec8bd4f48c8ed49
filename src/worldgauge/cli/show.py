"""Output of the command line: progress on stderr; tables and lists, one JSON object, or CSV on stdout."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldgauge.core.paired_tests import Power, power_of
from worldgauge.engine.collection import counted
from worldgauge.engine.suite.decoy import arm_of
from worldgauge.engine.suite.scores import name_of
from worldgauge.terminal.output import (
    ENDS,
    SCORE_COLUMNS,
    SHOWN,
    Form,
    duration,
    endings,
    headline,
    out,
    overview,
    print_csv,
    print_json,
    print_listing,
    print_numbers,
    print_text,
    score_rows,
)
from worldgauge.terminal.progress import ProgressBar

if TYPE_CHECKING:
    from worldgauge.engine.collect import Collected
    from worldgauge.engine.collection import Collection, DataReport
    from worldgauge.engine.result import RunResult, TaskCounts
    from worldgauge.engine.run import RunPlan
    from worldgauge.engine.suite.contract import Table
    from worldgauge.engine.videos import VideoFolder
    from worldgauge.tools.check_model import ModelReport
    from worldgauge.tools.verify import Verification


def result(run: RunResult, form: Form, **more: Any) -> None:
    """Print tables, counts, failures and the next command."""
    counts = run.counts
    tables = run.table() if counts.scored else []
    if form == "json":
        speed = run.speed_table()
        print_json(
            suite=run.suite.name,
            directory=str(run.directory) if len(run.parents) == 1 else None,
            runs={
                name: {"directory": str(run.directories[name]), "counts": asdict(each)}
                for name, each in run.model_counts.items()
            },
            counts=asdict(counts),
            failures=[asdict(one) for one in run.failures],
            skips=[asdict(one) for one in run.skips],
            tables=[_with_counts(asdict(table), run.model_counts) for table in tables],
            speed=None if speed is None else asdict(speed),
            power=asdict(run.power),
            ok=run.ok,
            **more,
        )
        return
    if form == "csv":
        print_csv(SCORE_COLUMNS, score_rows(run.suite.name, tables, run.sets, run.model_counts))
    elif tables:
        _score_tables(run, tables)
    _endings_and_next(run)


def _with_counts(table: dict[str, Any], counts: Mapping[str, TaskCounts]) -> dict[str, Any]:
    """A table as plain values, with how the tasks of each row ended."""
    for row in table["rows"]:
        known = counts.get(row["label"])
        row.update({end: getattr(known, end, None) for end in ENDS})
    return table


def _score_tables(run: RunResult, tables: Sequence[Table]) -> None:
    headline(tables[0])
    for alarm in tables[0].alarms:
        print_text(alarm, style="bold red")
    for note in tables[0].notes:
        print_text(note, style="dim")
    own = {name_of(text) for text in run.suite.own_metrics}
    for table in tables[1:]:
        if table.metric in own:
            headline(table)
    if len(tables) > 1:
        overview([table for table in tables if table.metric not in own])


def _endings_and_next(run: RunResult) -> None:
    for name, each in run.model_counts.items():
        out.print(f"{name}: {each}", markup=False, soft_wrap=True)
    endings("failed", [(f"{one.model} {one.task}", one.error) for one in run.failures])
    endings("skipped", [(f"{one.model} {one.task}", one.error) for one in run.skips])
    if run.failures:
        out.print("The same command tries the failed tasks again.")
        first = run.failures[0]
        where = run.directories[first.model]
        logs = where.parent / "logs"
        printed = f"; output of workers is in {logs}" if logs.is_dir() else ""
        out.print(f"Tracebacks are in {where}/records/TASK/record.json{printed}.", markup=False, soft_wrap=True)
    unscored = run.counts.unscored
    page = [] if unscored else ["--out", run.directory / "report.html"]
    follow = ["worldgauge", "score" if unscored else "report", *run.parents, *page]
    out.print(f"next: {shlex.join(map(str, follow))}", markup=False, soft_wrap=True)


def unused_videos(found: VideoFolder) -> None:
    """Report on stderr the videos that no task asks for, and sub-folders without any video."""
    from worldgauge.core.video import KINDS_READ

    for name in found.empty:
        print(f"{name}: holds no video; {KINDS_READ}", file=sys.stderr)
    for name, places in found.elsewhere.items():
        where = f"{counted(sum(places.values()), 'video')} of tests that are not in the run ({_some(list(places))})"
        print(f"{name}: {where}", file=sys.stderr)
    for name, left in found.unmatched.items():
        groups: dict[tuple[str, ...], list[str]] = {}
        for id in left:
            groups.setdefault(found.expected[id], []).append(id)
        for known, ids in list(groups.items())[:SHOWN]:
            there = ", ".join(known[:3]) + (", ..." if len(known) > 3 else "")
            hint = f"; known there: {there}" if known else ""
            print(f"{name}: {counted(len(ids), 'video')} without a task: {_some(ids)}{hint}", file=sys.stderr)
        if more := sum(map(len, list(groups.values())[SHOWN:])):
            print(f"{name}: {more} more without a task, in other places", file=sys.stderr)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def plans(found: Sequence[RunPlan], json: bool) -> None:
    """Print what a run would do."""
    listed: list[dict[str, Any]] = []
    for plan in found:
        items = [item for item in plan.items if not arm_of(item.task.id)]
        todo = Counter(item.todo for item in items)
        kept = _kept(plan, "failed")
        skips = [{"task": item.task.id, "reason": item.task.skip} for item in plan.items if item.todo == "skip"]
        listed.append(
            {
                "model": plan.label,
                "directory": str(plan.directory),
                "expected": len(items),
                "ask": todo["ask"],
                "cached": plan.cached,
                "score_only": todo["score"],
                "done_already": len(_kept(plan, "done")),
                "kept_failed": kept,
                "skipped": skips + _kept(plan, "skipped"),
                "decoy_rollouts": sum(bool(arm_of(item.task.id)) and item.todo == "ask" for item in plan.items),
                "tasks": [item.task.id for item in plan.items if item.todo in ("ask", "score")],
            }
        )
    if json:
        print_json(plans=listed, power=asdict(found[0].power))
        return
    print_text(str(found[0].power))
    for one in listed:
        kept_failed = f", {len(one['kept_failed'])} failed before" if one["kept_failed"] else ""
        cached = f" ({one['cached']} of them in the cache)" if one["cached"] else ""
        decoys = f", decoy test: {counted(one['decoy_rollouts'], 'rollout')}" if one["decoy_rollouts"] else ""
        out.print(
            f"{one['model']}: {counted(one['expected'], 'task')} expected, {one['done_already']} already done, "
            f"{one['ask']} to run{cached}, {one['score_only']} only to score, {len(one['skipped'])} skipped"
            f"{kept_failed}{decoys}; into {one['directory']}",
            markup=False,
            soft_wrap=True,
        )
        endings("failed", [(kept["task"], kept["reason"]) for kept in one["kept_failed"]])
        endings("skipped", [(skip["task"], skip["reason"]) for skip in one["skipped"]])


def _kept(plan: RunPlan, status: str) -> list[dict[str, Any]]:
    """Tasks that ended with `status` in an earlier run and are kept, with the reason."""
    return [
        {"task": item.task.id, "reason": item.line["error"]}
        for item in plan.items
        if item.todo == "nothing" and item.line is not None and item.line["status"] == status
    ]


def _power_of(collection: Collection) -> Power | None:
    """What tests can find in the data of a collection; None if no suite runs on them."""
    return power_of(collection.clusters()) if collection.first_model else None


def collection_plan(collection: Collection, json: bool) -> None:
    """Print what a collection would do."""
    expected, done, more = collection.expected(), collection.done(), collection.estimate()
    power = _power_of(collection)
    if json:
        print_json(
            out=str(collection.out),
            expected=expected,
            done_already=done,
            settings=collection.settings(),
            power=power and asdict(power),
            **more,
        )
        return
    noun = collection.items_noun
    out.print(f"{noun}: {expected} expected, {done} already done; in {collection.out}", markup=False, soft_wrap=True)
    for name, value in more.items():
        out.print(f"estimated {name.replace('_', ' ')}: {_text_of(name, value)}", markup=False, soft_wrap=True)
    if power:
        print_text(str(power))


def collected(collection: Collection, found: Collected, json: bool) -> None:
    """Print what a collection holds."""
    summary, power = collection.summary(), _power_of(collection)
    if json:
        facts = {**asdict(found), "root": str(found.root), "ok": not found.failures}
        print_json(**facts, **summary, power=power and asdict(power))
        return
    print(f"{found.root}: {collection.items_noun}: {found.items}, {collection.frames_noun}: {found.frames}")
    for name, value in summary.items():
        out.print(f"  {name.replace('_', ' ')}: {_text_of(name, value)}", markup=False, soft_wrap=True)
    for reason, count in found.discarded.items():
        print(f"  discarded {counted(count, 'try')}: {reason}")
    for note in found.notes:
        out.print(f"  {note}", markup=False, soft_wrap=True)
    endings("failed", [("", failure) for failure in found.failures])
    if power:
        print_text(str(power))
        print(f"next: {first_run(collection, found.root)}")


def first_run(collection: Collection | type[Collection], data: Path) -> str:
    """The command line of a first run on collected data."""
    return f"worldgauge run {collection.name} --data {shlex.quote(str(data))} {collection.first_model} --out runs/first"


def _text_of(name: str, value: Any) -> str:
    """One fact of an estimate or a summary, as text for people."""
    if name == "bytes":
        return f"{value / 1e9:.2f} GB"
    return ", ".join(f"{key}: {part}" for key, part in value.items()) if isinstance(value, dict) else str(value)


def data_report(folder: Path, found: DataReport, form: Form) -> None:
    """Print the result of a data check: a table, findings, and whether the data can be used."""
    table = found.table
    if form == "json":
        told = None if table is None else asdict(table)
        print_json(**{"data": str(folder), "ok": found.ok, "table": told, **found.facts})
        return
    if form == "csv":
        print_csv(*((), ()) if table is None else ([name.replace("\n", " ") for name in table.columns], table.rows))
    elif table is not None:
        print_text(table.title, style="italic")
        print_numbers(table.columns, table.rows)
    for note in () if table is None else table.notes:
        print_text(note)
    for finding in found.findings:
        out.print(f"{finding.severity}: {finding.text}", markup=False, soft_wrap=True)
    verdict = "usable" if found.ok else "not usable as it is"
    counts = f"{found.noun}: {found.n_valid} of {found.n_items} valid; {found.frames_noun}: {found.n_frames}"
    out.print(f"{folder}: {counts}; {verdict}", markup=False, soft_wrap=True)


def verification(found: Verification) -> None:
    """Print what was checked of a bundle, then what is known of each metric."""
    styles = {"ok": "", "violated": "bold red", "not looked": "yellow"}
    print_text(f"{found.path}, root {found.root}")
    rows = [(check.name, check.status, check.told) for check in found.checks]
    print_listing(("check", "verdict", "found"), rows, styles=[styles[check.status] for check in found.checks])
    if found.numbers:
        out.print()
        print_listing(
            ("metric", "mean", "tasks", "whole videos", "apart", "small videos", "mean apart", "verdict"),
            [
                (
                    number.metric,
                    "–" if number.mean is None else f"{number.mean:.4g}",
                    str(number.tasks),
                    f"{number.same} of {number.again}",
                    "–" if number.largest is None else f"{number.largest:.2g}",
                    f"{number.within} of {number.films}",
                    "–" if number.shift is None else f"{number.shift:+.2g}",
                    number.verdict,
                )
                for number in found.numbers
            ],
            styles=["bold red" if number.verdict == "differs" else None for number in found.numbers],
        )
        if not (found.rescored or found.filmed):
            print_text("Nothing was scored: give --data DIR, or --rescore N for a run on a benchmark set.")
    if found.draw:
        print_text(f"draw {found.draw}: --draw with this value samples the same tasks")
    if found.asked and not any(check.name == "answer" for check in found.checks):
        words = ["worldgauge", "bundle", "RUN", *(word for task in found.asked for word in ("--task", task))]
        print_text(
            f"Ask the author for {counted(len(found.asked), 'task')}; the file that this command makes is --answer:"
        )
        out.print(f"  {shlex.join(words)}", markup=False, soft_wrap=True)


STYLES = {"ok": "", "violated": "bold red", "warning": "yellow", "skipped": "dim"}


class Checking(ProgressBar):
    """Shows which check is running."""

    def __call__(self, check: str, done: int, total: int) -> None:
        """Show that a check begins, after `done` of `total`."""
        self.show("checks", done, total, doing=check)


def checked_model(report: ModelReport, form: Form) -> bool:
    """Print all verdicts, then the question, the answer and advice for each check that is not well."""
    if form == "json":
        print_json(**report.to_dict())
        return report.ok
    columns = ("check", "verdict", "question", "measured")
    rows = []
    for one in report.verdicts:
        measured = "; ".join(f"{name} {value}" for name, value in one.measured.items())
        rows.append((one.name, one.status, one.question, measured or one.reason or ""))
    if form == "csv":
        print_csv(columns, rows)
    else:
        print_listing(columns, rows, styles=[STYLES[one.status] for one in report.verdicts])
    for verdict in report.verdicts:
        if verdict.findings:
            out.print()
            print_text(f"{verdict.name}: {verdict.status}", STYLES[verdict.status])
            for question in verdict.asked:
                print_text(f"request: {question}", "dim", indent="  ")
            for finding in verdict.findings:
                print_text(finding.explanation, indent="  ")
                print_text(f"To do: {finding.advice}", indent="    ")
    counts = {status: sum(verdict.status == status for verdict in report.verdicts) for status in STYLES}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    end = "it is not ready to be evaluated"
    if report.ok:
        asked = any(verdict.asked for verdict in report.verdicts)
        end = "it is ready to be evaluated" if asked else "but no check could run"
    out.print()
    text = f"{report.model}, made in {report.made_s:.1f} s: {words}; {end}"
    out.print(text, markup=False, soft_wrap=True)
    if form == "text" and report.ok:
        _costs(report)
    return report.ok


def _costs(report: ModelReport) -> None:
    """Print which suites skip the model, and what the benchmark sets cost it."""
    from worldgauge.tools.plan import set_costs

    for suite, reason in report.unfit.items():
        print_text(f"{suite} skips it: {reason}", "yellow")
    rows = [(name, suite, f"{frames:,}", duration(seconds)) for name, suite, frames, seconds in set_costs(report)]
    if rows:
        out.print()
        print_listing(("set", "suite", "frames", "time with one worker"), rows)
