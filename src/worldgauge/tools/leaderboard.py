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
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Template
from markupsafe import Markup

from worldgauge.core.errors import DataError, RunError, UsageError, WorldgaugeError
from worldgauge.core.io import atomic_folder, dumps, read_json_object
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.collection import counted
from worldgauge.engine.result import find_runs
from worldgauge.engine.sets import SET_COLUMNS, set_cells
from worldgauge.engine.store import RunFolder, file_slug, read_record_entry
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Cell, Score, Table, TableRow
from worldgauge.engine.suite.scores import DIGEST, SETTING, speed_table
from worldgauge.report.compare import Comparison
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import ComparedRun, Evidence, load_evidence
from worldgauge.report.judgement import judge
from worldgauge.report.page import asset, assign_styles, environment
from worldgauge.report.provenance import provenance
from worldgauge.report.tables import COUNTS, view_table
from worldgauge.report.wording import digits_for, direction, metric_name, number
from worldgauge.tools.bundle import RECORDS, About, Archive, write_bundles
from worldgauge.tools.verify import Verification, look_over, open_plain_suite
from worldgauge.version import __version__

VERIFIED = ".verified.json"
"""Ends the name of a file among bundles: what `worldgauge verify --json` has printed of one of them."""

_Verdicts = dict[str, list[tuple[str, dict[str, Any]]]]
"""Name of a file and what it tells, by the root of the bundle that it is about."""


@dataclass(frozen=True)
class BoardEntry:
    """One result on a board; `again` is what somebody else's check with the data set found."""

    ident: str
    name: str
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
    """All that a folder holds."""

    shown: list[BoardEntry] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sets(self) -> dict[str, list[BoardEntry]]:
        """The results by set of tasks."""
        found: dict[str, list[BoardEntry]] = {}
        for entry in sorted(self.shown, key=lambda one: (str(one.facts["suite"]), one.set_key)):
            found.setdefault(entry.set_key, []).append(entry)
        return found


def read_entries(folder: Path, scratch: Path) -> Entries:
    """Check and unpack every bundle and run of a folder, at any depth. A faulty one is left out, with the reason."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    found = Entries()
    verdicts = _verdicts(folder, found)
    seen: dict[str, str] = {}
    for place, (path, bundle) in enumerate(_bundles(folder, scratch, found)):
        name = _name(path, folder)
        try:
            entry = _read(name, path.is_dir(), bundle, scratch / str(place), verdicts)
        except WorldgaugeError as error:
            found.left_out.append((name, str(error).replace(f"{bundle}: ", "")))
            continue
        if entry.found.root in seen:
            found.left_out.append((name, f"the same bundle as {seen[entry.found.root]}, byte by byte"))
            continue
        seen[entry.found.root] = name
        found.shown.append(entry)
    for root in verdicts.keys() - {entry.found.root for entry in found.shown if not entry.is_run}:
        for name, _ in verdicts[root]:
            found.left_out.append((name, "is about no bundle that is shown here; its root says which it was made of"))
    found.left_out.sort()
    if not found.shown and not found.left_out:
        raise UsageError(f"{folder}: holds neither bundles (worldgauge bundle) nor runs")
    return found


def _name(path: Path, folder: Path) -> str:
    """What a bundle or run is called in lists: its path in the folder."""
    return folder.name if path == folder else path.relative_to(folder).as_posix()


def _below(folder: Path, pattern: str) -> list[Path]:
    """Files of a name at any depth. Hidden folders are of unfinished work."""
    found = sorted(folder.rglob(pattern))
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _bundles(folder: Path, scratch: Path, found: Entries) -> Iterator[tuple[Path, Path]]:
    """Each bundle, with the path it is known by; runs are bundled first."""
    for path in _below(folder, "*.zip"):
        yield path, path
    try:
        runs = find_runs([folder])
    except RunError:
        runs = []
    held = {run.directory for run in runs}
    earlier = [path.parent for path in _below(folder, "run.json") if path.parent not in held]
    found.left_out += [(_name(path, folder), "an earlier run of the model") for path in earlier]
    for run in runs:
        packed = scratch / "packed" / hashlib.sha256(str(run.directory).encode()).hexdigest()[:16]
        try:
            made = write_bundles([run.directory], packed, whole=0)
        except WorldgaugeError as error:
            found.left_out.append((_name(run.directory, folder), str(error)))
        else:
            yield run.directory, made[0].path


def _read(name: str, is_run: bool, bundle: Path, folder: Path, verdicts: _Verdicts) -> BoardEntry:
    with Archive(bundle) as archive:
        found, opened = look_over(archive, folder)
    if not found.ok or opened is None:
        first = next(check for check in found.checks if check.status == "violated")
        raise DataError(f"its {first.name} do not agree: {first.told}")
    open_plain_suite(opened.facts)
    model = opened.facts["model"]
    if len(str(model["name"])) > 200 or not all(isinstance(one, str) for one in model["inputs"]):
        raise DataError("its run.json names the model in a way that no run does")
    facts = dict(opened.facts)
    # Their code is not here, and would not be run if it were.
    facts["settings"] = {n: v for n, v in opened.facts["settings"].items() if n not in (SETTING, DIGEST)}
    opened.folder.facts_path.write_text(dumps(facts))
    opened.put_records()
    # Of several verifications, one that found a difference counts; else the one with most tasks.
    counts = [] if is_run else [one for _, one in verdicts.get(found.root, ())]
    again = max(counts, key=lambda one: (one["differs"], one["tasks"]), default=None)
    content = opened.folder, facts, opened.about, opened.scores
    return BoardEntry(found.root[:16], name, bundle, is_run, *content, found, again)


def _verdicts(folder: Path, found: Entries) -> _Verdicts:
    """What was found of bundles, by their roots: a copy of a bundle under another name is the same bundle."""
    held: _Verdicts = {}
    for path in _below(folder, f"*{VERIFIED}"):
        name = _name(path, folder)
        try:
            told = read_json_object(path)
            held.setdefault(str(told.get("root")), []).append((name, _counts_of(told, name)))
        except WorldgaugeError as error:
            found.left_out.append((name, str(error)))
    return held


def _counts_of(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    numbers, tasks = told.get("numbers"), told.get("rescored")
    if not isinstance(numbers, list) or not isinstance(tasks, list):
        raise DataError(f"{name} is not what worldgauge verify --json prints")
    verdicts = [str(one.get("verdict")) for one in numbers if isinstance(one, dict)]
    violated = {str(one.get("name")) for one in told.get("checks", []) if one.get("status") == "violated"}
    filmed = told.get("filmed", [])
    return {
        "by": re.sub(r"\s+", " ", str(told.get("by", "")))[:100],
        "tasks": len(tasks),
        "films": len(filmed) if isinstance(filmed, list) else 0,
        "differs": verdicts.count("differs") + len(_ANSWERED & violated),
    }


_ANSWERED = {"whole videos", "small videos", "films", "answer"}
"""Checks of a verification that fail only if the author's scores or videos are not those of the bundle."""
INDEX, ABOUT = "index.html", "board.json"
_TABLE_FACTS = ("ident", "suite", "version", "data", "tasks", "limit", "settings", "metric", "direction", "columns")
"""What `board.json` says of a table."""
MOST_FILMS = 12
"""Films on the page of a result; all are in its bundle."""
DIFFERS = "scores did not come out again"


@dataclass(frozen=True)
class Board:
    """A site that was written."""

    page: Path
    shown: int
    tables: int
    left_out: tuple[tuple[str, str], ...]


def write_board(folder: Path | str, out: Path | str) -> Board:
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

    Examples:
        >>> wg.write_board("bundles", "board").tables
        1
    """
    folder, out = Path(folder), Path(out).resolve()
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / ABOUT).exists())):
        raise UsageError(f"{out}: holds something else than a leaderboard; choose another --out")
    if out == folder.resolve():
        raise UsageError(f"{out}: the site would replace the bundles; choose another --out")
    with tempfile.TemporaryDirectory(prefix="worldgauge-board-") as scratch, atomic_folder(out) as site:
        for name in ("reports", "films"):
            (site / name).mkdir()
        # The search for cycles would go through all scores again whenever some more were read.
        collects = gc.isenabled()
        gc.disable()
        try:
            entries = read_entries(folder, Path(scratch))
        finally:
            if collects:
                gc.enable()
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


class _PlacedSet(NamedTuple):
    """The results of one set of tasks, with their tables and ranks."""

    entries: Sequence[BoardEntry]
    evidence: Evidence
    suite: Suite
    made: Sequence[Table]
    speed: Table | None
    compared: Comparison | None


def _placed_sets(entries: Entries) -> Iterator[_PlacedSet]:
    """The sets with their tables. A result that no table can be made of is left out: anybody may have written it."""
    for theirs in entries.sets.values():
        part = _part_of_another(theirs[0], [others[0] for others in entries.sets.values()])
        try:
            yield _place(theirs, part)
        except Exception:
            sound = []
            for entry in theirs:
                try:
                    _place([entry])
                    sound.append(entry)
                except Exception as error:
                    why = f"not the run of a {entry.facts['suite']} ({type(error).__name__}: {error})"
                    entries.shown.remove(entry)
                    entries.left_out.append((entry.name, " ".join(why.split())[:300]))
            if len(sound) == len(theirs):
                raise
            if sound:
                yield _place(sound, part)


def _part_of_another(entry: BoardEntry, others: Sequence[BoardEntry]) -> str:
    """Why the results of a set win nothing: a longer list of tasks, with the same data, is on the board."""
    same = ("suite", "suite_version", "settings")
    mine = entry.facts["task_keys"].keys()
    for other in others:
        theirs = other.facts["task_keys"].keys()
        if len(theirs) <= len(mine) or any(entry.facts.get(name) != other.facts.get(name) for name in same):
            continue
        with Archive(entry.bundle) as one, Archive(other.bundle) as another:
            shared = any(_fingerprint(one, task) == _fingerprint(another, task) != "" for task in mine & theirs)
        if shared:
            lost = len(theirs - mine)
            return f"{lost} of {len(theirs)} tasks missing: {lost} not queried"
    return ""


def _fingerprint(archive: Archive, task: str) -> str:
    """Fingerprint of the data of a task; empty without a record."""
    name = f"{RECORDS}/{file_slug(task)}/record.json"
    return str(read_record_entry(archive.read(name), name)["fingerprint"]) if name in archive.files else ""


def _place(entries: Sequence[BoardEntry], part: str = "") -> _PlacedSet:
    scores = {entry.folder.directory: entry.scores for entry in entries}
    evidence, _ = load_evidence(list(scores), scores)
    suite = open_plain_suite(entries[0].facts)
    kinds = {run.label: run.kind for run in evidence.runs}
    speed = speed_table({run.label: run.speeds for run in evidence.runs}, kinds)
    flags = dict.fromkeys((run.label for run in evidence.runs), part) if part else {}
    flags |= {
        run.label: "; ".join(filter(None, [part, DIFFERS]))
        for run in evidence.runs
        for entry in entries
        if entry.folder.directory == run.directory and entry.again is not None and entry.again["differs"]
    }
    found = judge(evidence, suite, flags)
    return _PlacedSet(entries, evidence, suite, found.tables, speed, found.compared)


def _write_set(placed_set: _PlacedSet, site: Path) -> dict[str, Any]:
    """The table of one set for the index; the pages of its results are written."""
    entries, evidence, suite, made, speed, compared = placed_set
    by_folder = {entry.folder.directory: entry for entry in entries}
    rates = {row.label: row.cells[1].mean for row in speed.rows} if speed is not None else {}
    headline = made[0] if made else None
    styles = assign_styles(evidence)
    own = _rows_by_label([*made, *([speed] if speed is not None else [])])
    names = [run.model for run in evidence.runs]
    rows = []
    for run in evidence.runs:
        entry = by_folder[run.directory]
        _write_report(run, entry, evidence, styles, own.get(run.label, {}), site)
        row = _row(run, entry, headline, compared, rates.get(run.label))
        rows.append({**row, "root": entry.found.root[:8] if names.count(run.model) > 1 else ""})
    placed = {standing.label: at for at, standing in enumerate(compared.standings)} if compared else {}
    rows.sort(key=lambda row: (placed.get(row["label"], len(placed)), row["label"]))
    facts = entries[0].facts
    twins = sorted({name for name in names if names.count(name) > 1})
    notes = [f"{names.count(name)} results are named {name}; their content hashes differ." for name in twins]
    if len({dumps(entry.facts.get("metrics", {})) for entry in entries}) > 1:
        notes.append("Not all were scored with the same versions of metrics: see their pages.")
    defaults = type(suite)().settings
    changed = {k: v for k, v in facts["settings"].items() if v != defaults.get(k) and not k.endswith("_digest")}
    sets = {set_cells(entry.facts) for entry in entries}
    betters = (headline.betters or (headline.better,) * len(headline.columns)) if headline else ()
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
        "columns": [
            {"name": name, "better": better, "arrow": {"higher": "↑", "lower": "↓"}.get(better, "")}
            for name, better in zip(headline.columns, betters, strict=True)
        ]
        if headline
        else [],
        "metric": "" if headline is None else headline.title,
        "direction": "" if headline is None or headline.betters else direction(headline.better),
        "rows": rows,
        "notes": notes + list(headline.notes if headline else ()),
        "pairs": _pairs(compared),
        "can_order": compared is not None and compared.can_order,
    }


def _pairs(compared: Comparison | None) -> str:
    """Differences of all pairs as JSON, for the page's own comparison of any two."""
    pairs = [] if compared is None else compared.pairs
    held = [
        {
            **{name: getattr(pair, name) for name in ("a", "b", "mean", "low", "high")},
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
    run: ComparedRun, entry: BoardEntry, headline: Table | None, compared: Comparison | None, rate: float | None
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
        "baseline": run.kind == "baseline",
        "flag": flag,
        "marks": row.marks if row else (),
        "cells": cells,
        "control": str(entry.facts["model"].get("control", "")) or "unknown",
        "licence": entry.about.licence or "not reported",
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
            "baseline": run.kind == "baseline",
            "control": str(entry.facts["model"].get("control", "")),
            "licence": entry.about.licence,
            "parameters": entry.about.parameters,
            "verified": _verified(entry)["word"],
            "scored": run.counts.scored,
            "expected": run.counts.expected,
            "flag": flag,
            **{name: getattr(standing, name, None) for name in ("rank", "mean", "low", "high")},
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
    return str(parameters) if parameters else "not reported"


def _verified(entry: BoardEntry) -> dict[str, str]:
    """What is known of a result in a word, and in a sentence."""
    again = entry.again
    if again is None:
        if entry.is_run:
            return {"word": "own run", "told": "A run folder, not a bundle: its files are the author's own."}
        told = "Every file is as its root names it, and the parts agree. The scores are the author's word."
        return {"word": "author's word", "told": told}
    by = f" by {again['by']}" if again["by"] else ""
    if again["differs"]:
        return {"word": "differs", "told": f"Scores or videos are not those that were found{by}."}
    tasks = len(entry.facts["task_keys"]) + len(entry.facts.get("decoy_keys", ()))
    told = f"{again['tasks']} of {counted(tasks, 'task')} reproduced{by}"
    told += f"; {again['films']} within tolerance of the small video" if again["films"] else ""
    told += "; the rest is the author's word" if again["tasks"] + again["films"] < tasks else ""
    word = f"{again['tasks']} of {tasks} reproduced" if again["tasks"] else "author's word"
    word += f", {again['films']} within tolerance" if again["films"] else ""
    return {"word": word, "told": f"{told}."}


def _write_report(
    run: ComparedRun,
    entry: BoardEntry,
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
    shared, own = provenance(Evidence(evidence.suite, evidence.settings, (run,)))
    films, more = _films(entry, site)
    text = _template("entry.html.j2").render(
        css=Markup(asset("page.css")),
        own_css=Markup(_text("board.css")),
        label=run.label,
        suite=evidence.suite,
        question=suites.entry(evidence.suite).summary,
        baseline=run.kind == "baseline",
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
            notes = () if len(table.rows) > 1 else table.notes  # notes of a shared table are about all its rows
            about = table.metric, table.title, table.unit, table.better, table.columns
            found.setdefault(label, {})[place] = Table(*about, tuple(theirs), notes, table.betters, bars=False)
    return found


def _films(entry: BoardEntry, site: Path) -> tuple[list[dict[str, str]], int]:
    """Films of tasks spread over the run, copied beside the page, and how many more the bundle has."""
    with Archive(entry.bundle) as archive:
        names = [name for name in archive.files if name.startswith("films/")]
        step = max(1, math.ceil(len(names) / MOST_FILMS))
        chosen = names[::step][:MOST_FILMS]
        made = []
        for place, name in enumerate(chosen):
            archive.extract(name, target := site / "films" / entry.ident / f"{place}.mp4")
            film = Clip.from_array(Clip.open(target).to_array(), Clip.open(target).fps)
            with Writer(target, fps=film.fps, kind="viewable") as out:  # films of bundles have more colour
                for frame in film:
                    out.write(frame)
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
