"""What `worldgauge check` shows of a data set: statistics, beside published ones where there are any, and findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.table import Table as Grid

from worldgauge.cli_tables import out
from worldgauge.datasets import build, closedloop, coverage, demonstrations, loopnav, mind, target
from worldgauge.datasets.findings import Finding, Spread
from worldgauge.engine.store import dumps
from worldgauge.errors import UnknownNameError

_Found = (
    loopnav.Report
    | target.Report
    | mind.Report
    | closedloop.Report
    | coverage.Report
    | demonstrations.Report
    | build.Report
)

FORMATS: Mapping[str, Callable[..., _Found]] = {
    "loopnav": loopnav.check,
    "target": target.check,
    "mind": mind.check,
    "closedloop": closedloop.check,
    "coverage": coverage.check,
    "demonstrations": demonstrations.check,
    "build": build.check,
}


def check_data(benchmark: str, root: Path, *, decode: bool, json: bool) -> bool:
    """Look the data set over and show what was found; True when nothing of it is an error.

    decode: every video is decoded as well. Raises UnknownNameError for a format that is not known, DataError where
    there is no data set.
    """
    if benchmark not in FORMATS:
        raise UnknownNameError("data format", benchmark, FORMATS)
    found = FORMATS[benchmark](root, decode=decode)
    ok = not any(finding.severity == "error" for finding in found.findings)
    if json:
        sys.stdout.write(dumps({"data": str(root), "ok": ok, **found.to_dict()}) + "\n")
        return ok
    if isinstance(found, loopnav.Report):
        _show_loops(found)
        counted = f"{found.n_valid} of {found.n_trajectories} walks are valid"
    elif isinstance(found, target.Report):
        _show_scenarios(found)
        counted = f"{found.n_valid} of {found.n_scenarios} scenarios are valid"
    elif isinstance(found, closedloop.Report):
        _show_episodes(found)
        counted = f"{found.n_valid} of {found.n_episodes} episodes are valid"
    elif isinstance(found, build.Report):
        _show_builds(found)
        counted = f"{found.n_valid} of {found.n_tasks} tasks are valid"
    elif isinstance(found, coverage.Report):
        counted = f"{found.n_valid} of {found.n_trajectories} trajectories are valid"
    elif isinstance(found, demonstrations.Report):
        _show_demonstrations(found)
        counted = f"{found.n_valid} of {found.n_trajectories} demonstrations are valid"
    else:
        _show_clips(found)
        counted = f"{found.n_valid} of {found.n_clips} clips and mirror videos are valid"
    _show_findings(found.findings)
    verdict = "can be used" if ok else "cannot be used as it is"
    pictures = "pictures" if isinstance(found, build.Report) else "frames"
    out.print(f"{root}: {counted}, {found.n_frames} {pictures}; {verdict}", markup=False, soft_wrap=True)
    return ok


def _show_builds(found: build.Report) -> None:
    grid = Grid(title="tasks", title_justify="left")
    grid.add_column("", no_wrap=True)
    for column in ("tasks", "paper", "usable", "builds", "easy", "medium", "hard", "words", "pictures"):
        grid.add_column(column, justify="right")
    for row in found.rows:
        counts = (row.tasks, row.published, row.usable, row.architectures, row.easy, row.medium, row.hard)
        grid.add_row(row.kind, *map(str, counts), _mean(row.words), _mean(row.images))
    out.print(grid)
    types = ", ".join(f"{name} {count}" for name, count in found.types.items())
    out.print(f"paper: tasks of the published data; {found.n_architectures} builds by type: {types}", soft_wrap=True)


def _show_loops(found: loopnav.Report) -> None:
    grid = Grid(title="mean (published mean)", title_justify="left")
    for column in ("", "walks", "frames", "frames /\nline", "turn,\ndeg", "path,\nm", "area,\nm2", "deviation,\nm"):
        grid.add_column(column, justify="right")
    for row in found.rows:
        pairs = (
            (row.frames, row.published_frames),
            (row.frames_to_line, None),
            (row.look_around_deg, None),
            (row.path_length, None),
            (row.enclosed_area, row.published_enclosed_area),
            (row.normalised_deviation, row.published_normalised_deviation),
        )
        means = [_mean(mine) + (f" ({_number(theirs[0])})" if mine and theirs else "") for mine, theirs in pairs]
        grid.add_row(f"{row.type} {row.range}", str(row.trajectories), *means)
    out.print(grid)
    out.print("line: 94.7 + 8.07 x path, the fit of the published lengths; turn: headings seen before the first step")
    out.print(f"largest camera step: {found.max_camera:.3f} rad a tick")


def _show_scenarios(found: target.Report) -> None:
    grid = Grid(title="means over usable scenarios", title_justify="left", box=None, pad_edge=False)
    for column in (
        "",
        "scenarios",
        "published",
        "rows",
        "history,\ns",
        "anchor,\nm",
        "path,\nm",
        "end,\nm",
        "speed,\nm/s",
    ):
        grid.add_column(column, justify="right")
    for row in found.rows:
        means = (row.rows, row.history_s, row.anchor_m, row.path_m, row.end_m, row.speed_m_s)
        published = "-" if row.published is None else str(row.published)
        grid.add_row(row.label, str(row.scenarios), published, *map(_mean, means))
    out.print(grid)
    out.print(
        "anchor: straight from the first frame to the current one; end: straight from there to the end of the path"
    )
    horizons = ", ".join(f"{seconds} s: {count}" for seconds, count in found.horizons.items())
    out.print(f"usable by horizon: {horizons or 'none'}; {len(found.categories)} categories", soft_wrap=True)


def _show_clips(found: mind.Report) -> None:
    grid = Grid(title="means over usable clips", title_justify="left", box=None, pad_edge=False)
    grid.add_column("", no_wrap=True)
    for column in ("clips", "paper", "frames", "context", "walks,\ncm/s", "turns,\ndeg/frame", "no key"):
        grid.add_column(column, justify="right")
    for row in found.rows:
        idle = f"{row.keys['none']:.0%}" if "none" in row.keys else "-"
        context = "-" if row.mark_share is None else f"{row.mark_share.mean:.0%}"
        means = (_mean(row.frames), context, _mean(row.speed_cm_s), _mean(row.turn_deg), idle)
        grid.add_row(f"{row.perspective} {row.part}", str(row.clips), str(row.published), *means)
    out.print(grid)
    out.print(
        "paper: clips of the published data; context: share of the frames before mark_time; the mirror test is counted "
        "in videos",
        soft_wrap=True,
    )
    families = ", ".join(f"{name} {count}" for name, count in found.families.items())
    out.print(f"by family: {families or 'none'}", markup=False, soft_wrap=True)


def _show_episodes(found: closedloop.Report) -> None:
    grid = Grid(title="means over usable episodes", title_justify="left", box=None, pad_edge=False)
    grid.add_column("", no_wrap=True)
    for column in ("episodes", "paper", "usable", "scenes", "known", "straight,\nm", "steps", "reference,\nm"):
        grid.add_column(column, justify="right")
    for row in found.rows:
        counts = (row.episodes, row.published, row.usable, row.scenes, row.known)
        grid.add_row(row.kind, *map(str, counts), *map(_mean, (row.straight_m, row.steps, row.reference_m)))
    out.print(grid)
    out.print(
        "paper: episodes of the published data; known: scenes that can be entered here; straight: as the crow flies "
        "from start to goal; steps: of the reference path; reference: way of exploring until a question is answered",
        soft_wrap=True,
    )
    for name, counted in (
        ("difficulty", found.difficulties),
        ("target", found.labels),
        ("kind of question", found.categories),
    ):
        if counted:
            each = ", ".join(f"{one} {count}" for one, count in counted.items())
            out.print(f"by {name}: {each}", markup=False, soft_wrap=True)


def _show_demonstrations(found: demonstrations.Report) -> None:
    grid = Grid(title="means over usable demonstrations", title_justify="left", box=None, pad_edge=False)
    grid.add_column("", no_wrap=True)
    for column in ("demon-\nstrations", "varia-\ntions", "frames", "frames\n/ s", "seconds", "poses", "given up"):
        grid.add_column(column, justify="right")
    for row in found.rows:
        means = map(_mean, (row.frames, row.rate, row.seconds, row.sub_goals))
        grid.add_row(row.task, str(row.demonstrations), str(row.variations), *means, str(row.discarded))
    out.print(grid)
    out.print("frames / s: of simulated time; given up: tables that the expert did not solve", soft_wrap=True)
    for reason, count in found.discarded.items():
        out.print(f"given up {count} times: {reason}", markup=False, soft_wrap=True)


def _show_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        out.print(f"{finding.severity}: {finding.text}", markup=False, soft_wrap=True)


def _mean(spread: Spread | None) -> str:
    return "-" if spread is None else _number(spread.mean)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"
