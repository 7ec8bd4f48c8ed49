"""A leaderboard as a folder of pages that need no server, from bundles and runs.

site/  index.html  board.json  reports/<id>.html  films/<id>/<n>.mp4
"""

from __future__ import annotations

import base64
import gc
import hashlib
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import Markup

from worldgauge.core.errors import DataError, UsageError, WorldgaugeError
from worldgauge.core.io import atomic_folder, dumps, read_json_object
from worldgauge.engine.collection import counted
from worldgauge.engine.result import find_runs
from worldgauge.engine.sets import SET_COLUMNS, data_notes, set_cells
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Cell, Score, Table, TableRow
from worldgauge.engine.suite.scores import DIGEST, SETTING, speed_table
from worldgauge.metrics._registry import metric_bounds
from worldgauge.report.compare import Comparison, compare
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import ComparedRun, Evidence, load_evidence
from worldgauge.report.page import asset, assign_styles, environment
from worldgauge.report.provenance import provenance
from worldgauge.report.tables import COUNTS, view_table
from worldgauge.report.wording import digits_for, direction, metric_name, number
from worldgauge.tools.bundle import About, Archive, write_bundles
from worldgauge.tools.verify import Verification, look_over, open_plain_suite
from worldgauge.version import __version__

VERIFIED = ".verified.json"
"""Ends the name of a file among bundles: what `worldgauge verify --json` has printed of one of them."""

_Verdicts = dict[str, list[tuple[str, dict[str, Any]]]]
"""Name of a file and what it tells, by the root of the bundle that it is about."""


@dataclass(frozen=True)
class Entry:
    """One result on a board.

    Attributes:
        ident: Names its files on the site: letters and digits.
        source: The bundle or run folder that it came from.
        bundle: The archive.
        is_run: Whether it came as a run folder, so that its files are the author's own.
        folder: Its run folder, unpacked.
        facts: Content of run.json.
        about: What the author says of the model.
        scores: All its scores.
        found: What was found when the board was made.
        again: What somebody else's look at it found, who had the data set. None where there is none.
    """

    ident: str
    source: Path
    bundle: Path
    is_run: bool
    folder: RunFolder
    facts: Mapping[str, Any]
    about: About
    scores: Sequence[Score]
    found: Verification
    again: Mapping[str, Any] | None = None

    @property
    def set_key(self) -> str:
        """Names the set of tasks and the settings: numbers of two sets are never compared."""
        facts = self.facts
        held = [facts["suite"], facts.get("suite_version"), facts["data_fingerprint"], facts["settings"]]
        return hashlib.sha256(dumps(held).encode()).hexdigest()


@dataclass
class Entries:
    """All that a folder holds.

    Attributes:
        shown: The results, in the order of their files.
        left_out: Name of a file or folder, and why it is not shown.
    """

    shown: list[Entry] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sets(self) -> dict[str, list[Entry]]:
        """The results by set of tasks."""
        found: dict[str, list[Entry]] = {}
        for entry in sorted(self.shown, key=lambda one: (str(one.facts["suite"]), one.set_key)):
            found.setdefault(entry.set_key, []).append(entry)
        return found


def read_entries(folder: Path, scratch: Path) -> Entries:
    """Look over and unpack every bundle and run of a folder. One that is not in order is left out, with the reason."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror})") from error
    found = Entries()
    verdicts = _verdicts(paths, found)
    seen: dict[str, str] = {}
    for place, (path, bundle) in enumerate(_bundles(folder, paths, scratch, found)):
        try:
            entry = _read(path, bundle, scratch / str(place), verdicts)
        except WorldgaugeError as error:
            found.left_out.append((path.name, str(error).replace(f"{bundle}: ", "")))
            continue
        if entry.found.root in seen:
            found.left_out.append((path.name, f"the same bundle as {seen[entry.found.root]}, byte by byte"))
            continue
        seen[entry.found.root] = path.name
        found.shown.append(entry)
    for root in verdicts.keys() - {entry.found.root for entry in found.shown if not entry.is_run}:
        for name, _ in verdicts[root]:
            found.left_out.append((name, "is about no bundle that is shown here; its root says which it was made of"))
    found.left_out.sort()
    if not found.shown and not found.left_out:
        raise UsageError(f"{folder}: holds neither bundles (worldgauge bundle) nor runs")
    return found


def _bundles(folder: Path, paths: Sequence[Path], scratch: Path, found: Entries) -> Iterator[tuple[Path, Path]]:
    """Each bundle, with the path it is known by; runs are bundled first."""
    for path in paths:
        if path.suffix == ".zip":
            yield path, path
    folders = [path for path in [folder, *paths] if path.is_dir()]
    runs = [path for path in folders if (path / "run.json").exists() or any(path.glob("*/run.json"))]
    found.left_out += [(path.name, "an earlier run of the model") for path in runs if RunFolder(path).is_earlier]
    runs = [path for path in runs if not RunFolder(path).is_earlier]
    for run in find_runs(runs) if runs else ():
        packed = scratch / "packed" / hashlib.sha256(str(run.directory).encode()).hexdigest()[:16]
        try:
            made = write_bundles([run.directory], packed, whole=0)
        except WorldgaugeError as error:
            found.left_out.append((run.directory.name, str(error)))
        else:
            yield run.directory, made[0].path


def _read(path: Path, bundle: Path, folder: Path, verdicts: _Verdicts) -> Entry:
    with Archive(bundle) as archive:
        found, opened = look_over(archive, folder)
    if not found.ok or opened is None:
        first = next(check for check in found.checks if check.status == "violated")
        raise DataError(f"its {first.name} do not agree: {first.told}")
    open_plain_suite(opened.facts)
    _check_about(opened.facts)
    facts = dict(opened.facts)
    # Their code is not here, and would not be run if it were.
    facts["settings"] = {n: v for n, v in opened.facts["settings"].items() if n not in (SETTING, DIGEST)}
    opened.folder.facts_path.write_text(dumps(facts))
    opened.put_records()
    again = None if path.is_dir() else _worst(verdicts.get(found.root, ()))
    own = opened.folder, facts, opened.about, opened.scores
    return Entry(found.root[:16], path, bundle, path.is_dir(), *own, found, again)


def _verdicts(paths: Sequence[Path], found: Entries) -> _Verdicts:
    """What was found of bundles, by their roots: a copy of a bundle under another name is the same bundle."""
    held: _Verdicts = {}
    for path in paths:
        if path.name.endswith(VERIFIED) and path.is_file():
            try:
                told = read_json_object(path)
                held.setdefault(str(told.get("root")), []).append((path.name, _counts_of(told, path.name)))
            except WorldgaugeError as error:
                found.left_out.append((path.name, str(error)))
    return held


def _counts_of(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    numbers, tasks = told.get("numbers"), told.get("rescored")
    if not isinstance(numbers, list) or not isinstance(tasks, list):
        raise DataError(f"{name} is not what worldgauge verify --json prints")
    verdicts = [str(one.get("verdict")) for one in numbers if isinstance(one, dict)]
    return {
        "by": re.sub(r"\s+", " ", str(told.get("by", "")))[:100],
        "tasks": len(tasks),
        "stands": verdicts.count("stands"),
        "differs": verdicts.count("differs"),
        "metrics": len(verdicts) - verdicts.count("no value"),
    }


def _worst(told: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """Of several looks at one bundle, one that found a difference; else the one with most tasks."""
    return max((one for _, one in told), key=lambda one: (one["differs"], one["tasks"]), default=None)


def _check_about(facts: Mapping[str, Any]) -> None:
    """What reports take for granted of run.json, and what a bundle of anybody's may lack."""
    subject = facts["subject"]
    if len(str(subject["name"])) > 200 or not all(isinstance(one, str) for one in subject["inputs"]):
        raise DataError("its run.json names the model in a way that no run does")


def open_set(entries: Sequence[Entry]) -> Suite:
    """The suite of results of one set."""
    return open_plain_suite(entries[0].facts)


INDEX, ABOUT = "index.html", "board.json"
_TABLE_FACTS = ("ident", "suite", "version", "data", "tasks", "limit", "settings", "metric", "direction", "columns")
"""What `board.json` says of a table."""
MOST_FILMS = 12
"""Films on the page of a result; all are in its bundle."""
DIFFERS = "scores did not come out again"


@dataclass(frozen=True)
class Board:
    """A site that was written.

    Attributes:
        page: Its first page.
        shown: Number of results on it.
        tables: Number of sets of tasks, each with a table.
        left_out: Files that are not on it, with the reasons.
    """

    page: Path
    shown: int
    tables: int
    left_out: tuple[tuple[str, str], ...]


def write_board(folder: Path, out: Path) -> Board:
    """Make the site of all bundles and runs in a folder, whole or not at all. The same bundles give the same bytes.

    Args:
        folder: Bundles (`*.zip`), run folders, or both. What `worldgauge verify --json` printed of a bundle is read
            from any `*.verified.json` there; its root says which bundle it is about.
        out: Folder of the site. An older site there is replaced.

    Returns:
        The site.

    Raises:
        UsageError: When `folder` holds nothing to show, or `out` holds something else than a site.
        DataError: When a folder cannot be read or written.
    """
    out = out.resolve()
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / ABOUT).exists())):
        raise UsageError(f"{out}: holds something else than a leaderboard; choose another --out")
    if out == folder.resolve():
        raise UsageError(f"{out}: the site would replace the bundles; choose another --out")
    with tempfile.TemporaryDirectory(prefix="worldgauge-board-") as scratch, atomic_folder(out) as site:
        for name in ("reports", "films"):
            (site / name).mkdir()
        with _uncollected():
            entries = read_entries(folder, Path(scratch))
        sets = [_write_set(placed, site) for placed in _placed_sets(entries)]
        (site / INDEX).write_text(_index(sets, entries), encoding="utf-8")
        told = {
            "tables": [{name: one[name] for name in _TABLE_FACTS} for one in sets],
            "results": [{**row["facts"], "table": one["ident"]} for one in sets for row in one["rows"]],
            "left_out": [list(one) for one in entries.left_out],
            "worldgauge": __version__,
        }
        (site / ABOUT).write_text(dumps(told, indent=1) + "\n", encoding="utf-8")
    return Board(out / INDEX, len(entries.shown), len(sets), tuple(entries.left_out))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for cycles: it would look through all scores again whenever some more were read."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@dataclass(frozen=True)
class _PlacedSet:
    """The results of one set of tasks, with their tables and ranks."""

    entries: Sequence[Entry]
    evidence: Evidence
    suite: Suite
    made: Sequence[Table]
    speed: Table | None
    compared: Comparison | None


def _placed_sets(entries: Entries) -> Iterator[_PlacedSet]:
    """The sets with their tables. A result that no table can be made of is left out: anybody may have written it."""
    for theirs in entries.sets.values():
        try:
            yield _place(theirs)
        except Exception:
            sound = []
            for entry in theirs:
                try:
                    _place([entry])
                    sound.append(entry)
                except Exception as error:
                    why = f"not the run of a {entry.facts['suite']} ({type(error).__name__}: {error})"
                    entries.shown.remove(entry)
                    entries.left_out.append((entry.source.name, " ".join(why.split())[:300]))
            if len(sound) == len(theirs):
                raise
            if sound:
                yield _place(sound)


def _place(entries: Sequence[Entry]) -> _PlacedSet:
    scores = {entry.folder.directory: entry.scores for entry in entries}
    evidence, _ = load_evidence(list(scores), scores)
    suite = open_set(entries)
    kinds = {run.label: run.kind for run in evidence.runs}
    made = suite.all_tables(
        {r.label: r.scores for r in evidence.runs}, kinds, {r.label: r.failed for r in evidence.runs}
    )
    speed = speed_table({run.label: run.speeds for run in evidence.runs}, kinds)
    flags = {
        run.label: DIFFERS
        for run in evidence.runs
        for entry in entries
        if entry.folder.directory == run.directory and entry.again is not None and entry.again["differs"]
    }
    compared = _compare(evidence, suite, made[0] if made else None, flags)
    return _PlacedSet(entries, evidence, suite, made, speed, compared)


def _write_set(placed_set: _PlacedSet, site: Path) -> dict[str, Any]:
    """The table of one set for the index; the pages of its results are written."""
    entries, evidence, suite = placed_set.entries, placed_set.evidence, placed_set.suite
    made, speed, compared = placed_set.made, placed_set.speed, placed_set.compared
    by_folder = {entry.folder.directory: entry for entry in entries}
    rates = {row.label: row.cells[1].mean for row in speed.rows} if speed is not None else {}
    headline = made[0] if made else None
    styles = assign_styles(evidence)
    own = _rows_by_label([*made, *([speed] if speed is not None else [])])
    names = [run.subject for run in evidence.runs]
    rows = []
    for run in evidence.runs:
        entry = by_folder[run.directory]
        _write_report(run, entry, evidence, styles, own.get(run.label, {}), site)
        row = _row(run, entry, headline, compared, rates.get(run.label))
        rows.append({**row, "root": entry.found.root[:8] if names.count(run.subject) > 1 else ""})
    placed = {standing.label: at for at, standing in enumerate(compared.standings)} if compared else {}
    rows.sort(key=lambda row: (placed.get(row["label"], len(placed)), row["label"]))
    facts = entries[0].facts
    twins = sorted({name for name in names if names.count(name) > 1})
    notes = [f"{names.count(name)} results are named {name}; their roots tell them apart." for name in twins]
    if len({dumps(entry.facts.get("metrics", {})) for entry in entries}) > 1:
        notes.append("Not all were scored with the same versions of metrics: see their pages.")
    notes += data_notes({run.label: run.facts for run in evidence.runs})
    defaults = type(suite)().settings
    changed = {k: v for k, v in facts["settings"].items() if v != defaults.get(k)}
    sets = {set_cells(entry.facts) for entry in entries}
    return {
        "ident": entries[0].set_key[:12],
        "suite": suite.name,
        "named": dict(zip(SET_COLUMNS, sets.pop(), strict=True)) if len(sets) == 1 else None,
        "question": suites.entry(suite.name).summary,
        "version": facts.get("suite_version"),
        "data": facts["data_fingerprint"][:12],
        "tasks": len(facts["task_keys"]),
        "limit": facts.get("limit"),
        "settings": ", ".join(f"{k}={v}" for k, v in changed.items()),
        "columns": _columns(headline),
        "metric": "" if headline is None else headline.title,
        "direction": "" if headline is None or headline.betters else direction(headline.better),
        "rows": rows,
        "notes": notes + list(headline.notes if headline else ()),
        "pairs": _pairs(compared),
        "can_order": compared is not None and compared.can_order,
    }


def _columns(headline: Table | None) -> list[dict[str, str]]:
    if headline is None:
        return []
    betters = headline.betters or (headline.better,) * len(headline.columns)
    return [
        {"name": name, "better": better, "arrow": {"higher": "↑", "lower": "↓"}.get(better, "")}
        for name, better in zip(headline.columns, betters, strict=True)
    ]


def _compare(
    evidence: Evidence, suite: Suite, headline: Table | None, differing: Mapping[str, str]
) -> Comparison | None:
    """Ranks and pairs by the headline metric, as a report has them."""
    if headline is None or not evidence.has(headline.metric):
        return None
    sample = evidence.sample(headline.metric) if headline.betters else None
    better = headline.better if sample is None else sample.better
    flags = {**{row.label: row.flag for row in headline.rows if row.flag}, **differing}
    return compare(
        evidence,
        headline.metric,
        higher=better != "lower",
        bounds=metric_bounds(headline.metric),
        flags=flags,
        balanced=suite.balanced_by,
        table=headline,
    )


def _pairs(compared: Comparison | None) -> str:
    """Differences of all pairs as JSON, for the page's own comparison of any two."""
    pairs = [] if compared is None else compared.pairs
    held = [
        {
            "a": pair.a,
            "b": pair.b,
            "mean": pair.mean,
            "low": pair.low,
            "high": pair.high,
            "p": pair.p_holm,
            "n": pair.n,
            "clusters": pair.clusters,
            "clear": compared is not None and compared.shows_lead(pair),
            "ahead": pair.a if compared is not None and (pair.mean > 0) == compared.higher else pair.b,
        }
        for pair in pairs
    ]
    return in_script(held)


def in_script(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element."""
    return Markup(dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _row(
    run: ComparedRun, entry: Entry, headline: Table | None, compared: Comparison | None, rate: float | None
) -> dict[str, Any]:
    row = next((one for one in headline.rows if one.label == run.label), None) if headline else None
    standing = compared.by_label.get(run.label) if compared else None
    digits = _digits(headline)
    cells = [_cell(cell, digit) for cell, digit in zip(row.cells if row else (), digits, strict=False)]
    flag = (standing.flag if standing else "") or (row.flag if row else "")
    return {
        "label": run.label,
        "ident": entry.ident,
        "rank": standing.rank if standing else "–",
        "place": standing.places[0] if standing and standing.places else None,
        "reference": run.kind == "reference",
        "flag": flag,
        "cells": cells,
        "control": str(entry.facts["subject"].get("control", "")) or "unknown",
        "licence": entry.about.licence or "not told",
        "parameters": entry.about.parameters,
        "size": _size(entry.about.parameters),
        "rate": rate,
        "rate_text": "–" if rate is None else number(rate, digits=1),
        "scored": f"{run.counts.scored} of {run.counts.expected}",
        "whole": run.counts.scored == run.counts.expected,
        "verified": _verified(entry),
        "created": str(entry.facts.get("created", ""))[:10],
        "facts": {
            "label": run.label,
            "root": entry.found.root,
            "suite": entry.facts["suite"],
            **dict(zip(SET_COLUMNS, set_cells(entry.facts), strict=True)),
            "reference": run.kind == "reference",
            "control": str(entry.facts["subject"].get("control", "")),
            "licence": entry.about.licence,
            "parameters": entry.about.parameters,
            "verified": _verified(entry)["word"],
            "scored": run.counts.scored,
            "expected": run.counts.expected,
            "rank": standing.rank if standing else None,
            "mean": standing.mean if standing else None,
            "low": standing.low if standing else None,
            "high": standing.high if standing else None,
        },
    }


def _cell(cell: Cell, digits: int) -> dict[str, Any]:
    known = cell.low is not None and cell.high is not None
    return {
        "mean": number(cell.mean, digits=digits),
        "interval": f"{number(cell.low, digits=digits)} to {number(cell.high, digits=digits)}" if known else "",
        "value": cell.mean if cell.mean is not None and math.isfinite(cell.mean) else None,
        "n": cell.n,
    }


def _digits(headline: Table | None) -> list[int]:
    if headline is None:
        return []
    columns = [[row.cells[k].mean for row in headline.rows] for k in range(len(headline.columns))]
    if headline.betters:
        return [digits_for(column) for column in columns]
    return [digits_for(mean for column in columns for mean in column)] * len(columns)


def _size(parameters: int) -> str:
    """A number of parameters in words: 1300000000 is "1.3 B"."""
    for unit, name in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if parameters >= unit:
            return f"{parameters / unit:.3g} {name}"
    return str(parameters) if parameters else "not told"


def _verified(entry: Entry) -> dict[str, str]:
    """What is known of a result in a word, and in a sentence."""
    again = entry.again
    if again is None:
        if entry.is_run:
            return {"word": "own run", "told": "A run folder, not a bundle: its files are the author's own."}
        return {"word": "whole", "told": "Every file is as its root names it, and the parts agree. Not scored again."}
    by = f" by {again['by']}" if again["by"] else ""
    told = f"{counted(again['tasks'], 'task')} scored again{by}: {again['stands']} of {again['metrics']} metrics stand"
    if again["differs"]:
        return {"word": "differs", "told": f"{told}, {again['differs']} differ."}
    return {"word": "scored again" if again["tasks"] else "whole", "told": f"{told}."}


def _write_report(
    run: ComparedRun,
    entry: Entry,
    evidence: Evidence,
    styles: Mapping[str, SeriesStyle],
    mine: Mapping[int, Table],
    site: Path,
) -> None:
    """The page of one result: its row of every table, what was verified, films, how it was made."""
    views = [
        view_table(f"table-{place}", table, styles, {run.label: run.sees})
        for place, table in mine.items()
        if table.unit != COUNTS and any(cell.mean is not None for row in table.rows for cell in row.cells)
    ]
    alone = Evidence(evidence.suite, evidence.settings, (run,))
    shared, own = provenance(alone)
    films, more = _films(entry, site)
    text = _template("entry.html.j2").render(
        css=Markup(asset("page.css")),
        own_css=Markup(_text("board.css")),
        label=run.label,
        suite=evidence.suite,
        question=suites.entry(evidence.suite).summary,
        reference=run.kind == "reference",
        entry=entry,
        verified=_verified(entry),
        size=_size(entry.about.parameters),
        counts=run.counts,
        tables=views,
        films=films,
        more=more,
        facts=[*shared, *(pair for _, theirs in own for pair in theirs)],
        troubles=[one for one in run.outcomes if one.end != "scored"][:50],
        version=__version__,
    )
    (site / "reports" / f"{entry.ident}.html").write_text(text, encoding="utf-8")


def _rows_by_label(tables: Sequence[Table]) -> dict[str, dict[int, Table]]:
    """For each label, the tables that it is in by their places, with its own rows alone."""
    found: dict[str, dict[int, Table]] = {}
    for place, table in enumerate(tables):
        rows: dict[str, list[TableRow]] = {}
        for row in table.rows:
            rows.setdefault(row.label, []).append(row)
        for label, theirs in rows.items():
            found.setdefault(label, {})[place] = _only(table, tuple(theirs))
    return found


def _only(table: Table, rows: tuple[TableRow, ...]) -> Table:
    notes = () if len(table.rows) > 1 else table.notes  # notes of a shared table are about all its rows
    return Table(
        table.metric, table.title, table.unit, table.better, table.columns, rows, notes, table.betters, bars=False
    )


def _films(entry: Entry, site: Path) -> tuple[list[dict[str, str]], int]:
    """Films of tasks spread over the run, copied beside the page, and how many more the bundle has."""
    with Archive(entry.bundle) as archive:
        names = [name for name in archive.files if name.startswith("films/")]
        step = max(1, math.ceil(len(names) / MOST_FILMS))
        chosen = names[::step][:MOST_FILMS]
        made = []
        for place, name in enumerate(chosen):
            archive.extract(name, site / "films" / entry.ident / f"{place}.mp4")
            task = name.removeprefix("films/").removesuffix(".mp4").removesuffix("/rollout")
            made.append({"file": f"../films/{entry.ident}/{place}.mp4", "task": task.replace("__", "/")})
    return made, len(names) - len(chosen)


def _index(sets: Sequence[Mapping[str, Any]], entries: Entries) -> str:
    script = _text("board.js")
    rows = [row for one in sets for row in one["rows"]]
    return _template("board.html.j2").render(
        css=Markup(asset("page.css")),
        own_css=Markup(_text("board.css")),
        js=Markup(script),
        js_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sets=sets,
        count=counted(len(rows), "result"),
        controls=sorted({row["control"] for row in rows}),
        licences=sorted({row["licence"] for row in rows}),
        left_out=entries.left_out,
        metric_name=metric_name,
        version=__version__,
    )


@cache
def _template(name: str) -> Template:
    return environment(__package__).get_template(name)


@cache
def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
