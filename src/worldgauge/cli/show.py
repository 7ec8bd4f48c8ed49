"""Output of the command line: progress on stderr; tables and lists, one JSON object, or CSV on stdout."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldgauge.core.paired import Power, power_of
from worldgauge.engine.collection import counted
from worldgauge.engine.suite.scores import name_of
from worldgauge.terminal.output import (
    SCORE_COLUMNS,
    SHOWN,
    Form,
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
    written,
)
from worldgauge.terminal.progress import ProgressBar

if TYPE_CHECKING:
    from worldgauge.core.registry import Registry
    from worldgauge.engine.collect import Collected
    from worldgauge.engine.collection import Collection, DataReport
    from worldgauge.engine.result import RunResult
    from worldgauge.engine.run import RunPlan
    from worldgauge.engine.suite.contract import Table
    from worldgauge.engine.videos import VideoFolder
    from worldgauge.tools.board import Board
    from worldgauge.tools.check_model import CheckVerdict, ModelReport
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
                for name, each in run.subject_counts.items()
            },
            counts=asdict(counts),
            failures=[asdict(one) for one in run.failures],
            skips=[asdict(one) for one in run.skips],
            tables=[asdict(table) for table in tables],
            speed=None if speed is None else asdict(speed),
            power=asdict(run.power),
            ok=run.ok,
            **more,
        )
        return
    if form == "csv":
        print_csv(SCORE_COLUMNS, score_rows(run.suite.name, tables, run.sets))
    elif tables:
        _score_tables(run, tables)
    _endings_and_next(run)


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
    for name, each in run.subject_counts.items():
        out.print(f"{name}: {each}", markup=False, soft_wrap=True)
    endings("failed", [(f"{one.subject} {one.task}", one.error) for one in run.failures])
    endings("skipped", [(f"{one.subject} {one.task}", one.error) for one in run.skips])
    if run.failures:
        out.print("The same command tries the failed tasks again.")
        first = run.failures[0]
        where = run.directories[first.subject]
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
        print_json(plans=listed, power=asdict(found[0].power))
        return
    print_text(str(found[0].power))
    for one in listed:
        kept_failed = f", {len(one['kept_failed'])} failed before" if one["kept_failed"] else ""
        out.print(
            f"{one['subject']}: {counted(one['expected'], 'task')} expected, {one['done_already']} already done, "
            f"{one['ask']} to run, {one['score_only']} only to score, {len(one['skipped'])} skipped"
            f"{kept_failed}; into {one['directory']}",
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
    return power_of(collection.clusters()) if collection.first_subject else None


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
    return (
        f"worldgauge run {collection.name} --data {shlex.quote(str(data))} {collection.first_subject} --out runs/first"
    )


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
    _findings(folder, found)


def _findings(folder: Path, found: DataReport) -> None:
    for finding in found.findings:
        out.print(f"{finding.severity}: {finding.text}", markup=False, soft_wrap=True)
    verdict = "usable" if found.ok else "not usable as it is"
    counts = f"{found.noun}: {found.n_valid} of {found.n_items} valid; {found.frames_noun}: {found.n_frames}"
    out.print(f"{folder}: {counts}; {verdict}", markup=False, soft_wrap=True)


def exported(files: list[Path], json: bool, note: str = "") -> None:
    """Print the paths of the result files, and what is to be known of them."""
    if json:
        print_json(files=[str(file) for file in files], **({"note": note} if note else {}))
        return
    for file in files:
        print(file)
    if note:
        print_text(note)


def board(made: Board, json: bool) -> None:
    """Print what is on a leaderboard, and what was left out of it."""
    if json:
        print_json(page=str(made.page), shown=made.shown, left_out=dict(made.left_out))
        return
    print_text(f"{counted(made.shown, 'result')} in {counted(made.tables, 'table')}")
    endings("left out", list(made.left_out))
    written(made.page, json)


def verification(found: Verification) -> None:
    """Print what was checked of a bundle, then which numbers stand."""
    styles = {"ok": "", "violated": "bold red", "not looked": "yellow"}
    print_text(f"{found.path}, root {found.root}")
    rows = [(check.name, check.status, check.told) for check in found.checks]
    print_listing(("check", "verdict", "found"), rows, styles=[styles[check.status] for check in found.checks])
    if found.numbers:
        out.print()
        print_listing(
            ("metric", "mean", "again", "apart", "verdict"),
            [
                (
                    number.metric,
                    "–" if number.mean is None else f"{number.mean:.4g}",
                    f"{number.again} of {number.tasks}",
                    "–" if number.largest is None else f"{number.largest:.2g}",
                    number.verdict,
                )
                for number in found.numbers
            ],
            styles=["bold red" if number.verdict == "differs" else None for number in found.numbers],
        )
        told = found.rescored
        print_text(
            f"{counted(len(told), 'task')} scored again: {', '.join(told[:SHOWN])}{' ...' if len(told) > SHOWN else ''}"
            if told
            else "No score was made again: give the folder of the data set with --data, or a number of tasks with "
            "--rescore, which finds a named set in sets/SET/SUITE by itself."
        )


def entries(kind: str, registry: Registry[Any], form: Form) -> None:
    """Print name, summary and origin of every registered entry."""
    listed: list[dict[str, Any]] = [
        {"name": entry.name, "summary": entry.summary, "origin": entry.origin, "facts": dict(entry.facts)}
        for entry in registry
    ]
    columns = ("name", "summary", "origin")
    if form == "json":
        print_json(**{kind: listed})
    elif form == "csv":
        print_csv(columns, [[one[column] for column in columns] for one in listed])
    else:
        # An origin is one long word, so it stands under the summary.
        print_listing(("name", "summary"), [(one["name"], f"{one['summary']}\n{one['origin']}") for one in listed])


def adapters(known: Mapping[str, str], form: Form) -> None:
    """Print the known adapters, and how to copy one."""
    columns = ("name", "what it serves")
    if form == "json":
        print_json(adapters=dict(known))
    elif form == "csv":
        print_csv(columns, list(known.items()))
    else:
        print_listing(columns, list(known.items()))
        out.print("copy one: worldgauge adapters NAME --out DIR", soft_wrap=True)


def handed_out(copies: Sequence[Path], json: bool) -> None:
    """Print what was copied, and the next command."""
    if json:
        print_json(files=[str(path) for path in copies])
        return
    for path in copies:
        out.print(f"wrote {path}", soft_wrap=True, markup=False)
    out.print(f"its first lines say how it is used: {copies[0]}", soft_wrap=True, markup=False)


STYLES = {"ok": "", "violated": "bold red", "warning": "yellow", "not asked": "dim"}


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
    rows = [(one.name, one.status, one.question, _measured(one)) for one in report.verdicts]
    if form == "csv":
        print_csv(columns, rows)
    else:
        print_listing(columns, rows, styles=[STYLES[one.status] for one in report.verdicts])
    for verdict in report.verdicts:
        if verdict.findings:
            _explain(verdict)
    out.print()
    out.print(_summary(report), markup=False, soft_wrap=True)
    return report.ok


def _measured(verdict: CheckVerdict) -> str:
    return "; ".join(f"{name} {value}" for name, value in verdict.measured.items()) or verdict.reason or ""


def _explain(verdict: CheckVerdict) -> None:
    out.print()
    print_text(f"{verdict.name}: {verdict.status}", STYLES[verdict.status])
    for question in verdict.asked:
        print_text(f"asked: {question}", "dim", indent="  ")
    for finding in verdict.findings:
        print_text(finding.explanation, indent="  ")
        print_text(f"To do: {finding.advice}", indent="    ")


def _summary(report: ModelReport) -> str:
    counts = {status: sum(verdict.status == status for verdict in report.verdicts) for status in STYLES}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    end = "it is not ready to be measured"
    if report.ok:
        asked = any(verdict.asked for verdict in report.verdicts)
        end = "it keeps every promise that was asked for" if asked else "but it could be asked nothing"
    return f"{report.model}, made in {report.made_s:.1f} s: {words}; {end}"
