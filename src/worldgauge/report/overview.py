"""One page for several suites: a card for each, with its question, its headline and the rows of its first table."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from worldgauge.core.english import listed
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.registry import current_suite
from worldgauge.engine.collection import counted
from worldgauge.engine.result import find_runs
from worldgauge.engine.store import atomic_write
from worldgauge.engine.suite.base import suites
from worldgauge.report.evidence import STAND_IN, load_evidence
from worldgauge.report.judgement import judge
from worldgauge.report.page import asset, environment, write_report
from worldgauge.report.task_films import film_task, preview_task
from worldgauge.report.wording import number
from worldgauge.version import __version__

INDEX = "index.html"
_OWN_SCENES = "The settings are the paper's, the scenes are not: do not compare with printed numbers."


@dataclass(frozen=True)
class OverviewTable:
    """A table below the cards. Its cells are text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def suite_card(runs: Sequence[Path], report: str, *, film: bool = False) -> dict[str, Any]:
    """Plain JSON of a suite for a page: `report` is relative to the page; with `film` a video replaces the stills.
    "open" lists, by model under test, the models from which it is not separated; None without a test."""
    evidence, suite = load_evidence(runs)
    found = judge(evidence, suite)
    if found.compared is None:
        raise RunError(f"{suite.name}: {found.verdict.headline}")
    tested = [run.label for run in evidence.runs if run.kind == "model" or STAND_IN in run.sees]
    open_pairs: dict[str, list[str] | None] = {}
    for label in tested:
        pairs = [pair for (one, _), pair in found.compared.signed.items() if one == label and pair.p is not None]
        open_pairs[label] = [pair.b for pair in pairs if not pair.clear] if pairs else None
    order = [run.label for run in evidence.runs]
    table = found.tables[0]
    previews = preview_task(runs, order, table.metric)
    return {
        "suite": suite.name,
        "question": question_of(suite.name),
        "title": found.name,
        "unit": table.unit,
        "better": "higher" if found.higher else "lower",
        "rows": [
            {**asdict(row), "rank": row.rank}
            for row in sorted(found.compared.standings, key=lambda row: row.label not in tested)
        ],
        "tested": tested,
        "verdict": found.verdict.headline,
        "notes": suite.departures or ([_OWN_SCENES] if "set" in evidence.runs[0].facts else []),
        "open": open_pairs,
        "claim_metrics": " or ".join(suite.memory_metrics.values()) if suite.claims_memory else "",
        "answerer_kind": suite.answerer_kind,
        "settings": dict(suite.settings),
        "previews": [asdict(one) for one in previews],
        "film": _film(runs, list(evidence.groups)) if film and suite.answerer_kind == "model" else None,
        "report": report,
        "error": "",
    }


def question_of(suite: str) -> str:
    """The question of a suite in one sentence. Empty if it states none."""
    shown = suites.get(suite).demo_set()
    return "" if shown is None else shown.question


def _film(runs: Sequence[Path], tasks: Sequence[str]) -> str | None:
    """A video of the first task, base64; None if there is nothing to show."""
    try:
        return base64.b64encode(film_task(runs, tasks[0]).data).decode() if tasks else None
    except UsageError:
        return None


def _interval(row: Mapping[str, Any]) -> str:
    """The interval of a row; empty for a missing one."""
    return "" if row["low"] is None or row["high"] is None else f"[{number(row['low'])}, {number(row['high'])}]"


def write_reports(runs: Sequence[Path], page: Path, *, films: int = 24) -> Path:
    """Write a page with a card per suite, and beside it a report per suite with at most `films` tasks as films."""
    by_suite: dict[str, list[Path]] = {}
    for folder in find_runs(runs):
        by_suite.setdefault(current_suite(str(folder.facts()["suite"])), []).append(folder.directory)
    if len(by_suite) == 1:
        return write_report(runs, page, films=films)
    cards = []
    for suite, folders in by_suite.items():
        name = f"{page.stem}-{suite}.html"
        write_report(folders, page.with_name(name), films=films)
        try:
            cards.append(suite_card(folders, name, film=True))
        except RunError as error:
            cards.append({"suite": suite, "question": question_of(suite), "error": str(error)})
    return write_overview(page, cards, eyebrow="report")


def write_overview(
    page: Path,
    cards: Sequence[Mapping[str, Any]],
    *,
    heading: str = "",
    lead: str = "",
    eyebrow: str = "",
    chip: str = "your model",
    tables: Sequence[OverviewTable] = (),
    next_heading: str = "",
    next_lead: str = "",
    commands: Sequence[str] = (),
) -> Path:
    """Write a page of `suite_card` cards; `chip` marks the rows of models under test. A card without a result has
    "suite", "question", and "error" or "left_out"."""
    made = environment(__package__)
    made.filters["interval"] = _interval
    labels = dict.fromkeys(label for card in cards for label in card.get("tested", ()))
    ran = counted(sum("rows" in card for card in cards), "suite")
    known = f"{ran}, next to baselines of known quality. A number is a mean with its 95 % interval."
    text = made.get_template("overview.html.j2").render(
        css=Markup(asset("page.css")),
        cards=cards,
        title=f"worldgauge {eyebrow}".strip(),
        heading=heading or f"What {listed(list(labels)) or 'these models'} can do",
        lead=lead or known,
        eyebrow=eyebrow,
        chip=chip,
        tables=tables,
        next_heading=next_heading,
        next_lead=next_lead,
        commands=commands,
        version=__version__,
    )
    atomic_write(page, text)
    return page
