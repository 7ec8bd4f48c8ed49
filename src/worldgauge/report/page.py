"""The page of a report: one HTML file that opens from disk and needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from worldgauge.core.english import listed
from worldgauge.core.errors import UsageError
from worldgauge.core.intervals import FEWEST_DIFFERENT
from worldgauge.core.paired_tests import FEWEST_CLUSTERS
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import Runs, list_paths
from worldgauge.engine.sets import set_cells
from worldgauge.engine.store import atomic_write, write_error
from worldgauge.engine.suite.base import AnsweredSuite, Suite, suites
from worldgauge.engine.suite.contract import Table
from worldgauge.engine.suite.scores import speed_table
from worldgauge.report import charts, svg, tables
from worldgauge.report import provenance as trust
from worldgauge.report import wording as words
from worldgauge.report.compare import Comparison, PairDifference, Standing
from worldgauge.report.curves import FEWEST_BANDED, SeriesStyle, look
from worldgauge.report.evidence import (
    Evidence,
    cell_of,
    columns_by,
    keys_of,
    load_evidence,
    read_tasks,
    without_damaged,
)
from worldgauge.report.judgement import Judgement, absent_metrics, judge
from worldgauge.report.provenance import ENDS, commands, provenance, tallies, troubles
from worldgauge.report.steps import step_charts
from worldgauge.report.task_cards import START, TRUTH, TaskCard, make_task_cards, room_for
from worldgauge.report.wording import Vocabulary


@dataclass(frozen=True)
class Extremes:
    """The worst and the best trajectory of one model."""

    label: str
    worst: tuple[str, float]
    best: tuple[str, float]


def find_extremes(evidence: Evidence, metric: str, *, higher: bool = True) -> list[Extremes]:
    """Find the worst and best trajectory of every model that has a value. The first task wins ties."""
    found = []
    for run in evidence.runs:
        known = run.values(metric)
        values = {task: known[task] for task in evidence.groups if task in known}
        if values:
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            worst, best = (low, high) if higher else (high, low)
            found.append(Extremes(run.label, (worst, values[worst]), (best, values[best])))
    return found


def select_tasks(evidence: Evidence, cases: Sequence[Extremes], limit: int) -> list[str]:
    """Choose tasks for films, in their order: worst and best of models, then of baselines, then a spread over cells."""
    tasks = list(evidence.groups)
    if len(tasks) <= limit:
        return tasks
    ranked = sorted(cases, key=lambda case: (evidence[case.label].kind == "baseline", evidence[case.label].privileged))
    wanted = [task for case in ranked for task in (case.worst[0], case.best[0])]
    cells: dict[str, list[str]] = {}
    for task in tasks:
        cells.setdefault(cell_of(evidence.groups[task]), []).append(task)
    spread = [task for layer in zip_longest(*cells.values()) for task in layer if task is not None]
    # Half of the room is kept for the spread: extremes alone would show no ordinary walk.
    first = list(dict.fromkeys(wanted))[: max(1, limit // 2)]
    room = limit - len(first)
    if 0 < room < len(cells):
        # More cells than room: not the first ones, which are all of one kind, but some of every kind.
        spread = [spread[k * len(cells) // room] for k in range(room)] + spread
    chosen = set(list(dict.fromkeys([*first, *spread]))[:limit])
    return [task for task in tasks if task in chosen]


LISTED = 400
"""Trajectories up to which the page lists every one when some have no film; beyond, they are in scores.jsonl."""


MOST_PANELS = 12
"""Cells of a table up to which each has a curve of its own."""


def write_report(runs: Runs, out: Path | str, *, films: int = 24, votes: Path | str | None = None) -> Path:
    """Compare runs on one page. The file is written whole or not at all.

    Args:
        runs: Run folders, or folders of run folders, all of one suite.
        out: The page itself (.html), or a folder that gets `index.html`.
        films: Largest number of tasks shown as films. The page says how many are left out.
        votes: File of votes on these runs, for one more table.

    Returns:
        Path of the page.

    Raises:
        UsageError: When the runs are of several suites, or of one that holds no votes.
        DataError: When the votes cannot be read, or are about other runs.
        RunError: When no run can be read, or the page cannot be written. Of several runs one that is damaged is left
            out, and the page says so.

    Examples:
        >>> wg.write_report("runs", "report.html").name
        'report.html'
    """
    evidence, suite = load_evidence(runs)
    more = []
    if votes is not None:
        if not isinstance(suite, AnsweredSuite):
            raise UsageError(f"suite '{suite.name}' holds no votes; leave out --votes")
        more = [suite.vote_table(Path(votes), list_paths(runs))]
    path = Path(out)
    path = path if path.suffix.lower() in (".html", ".htm") else path / "index.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, path.parent) from error
    try:
        text = render(evidence, suite, films, more)
    except Exception:
        sound = without_damaged(evidence, suite)
        if len(sound.runs) == len(evidence.runs):
            raise
        text = render(sound, suite, films, more)
    atomic_write(path, text)
    return path


def render(evidence: Evidence, suite: Suite, films: int, more: Sequence[Table] = ()) -> str:
    """The page as text."""
    styles = assign_styles(evidence)
    found = judge(evidence, suite)
    made = [*found.tables, *more]
    speed = speed_table({e.label: e.speeds for e in evidence.runs}, {e.label: e.kind for e in evidence.runs})
    if made and speed is not None:
        made.append(speed)
    said = Vocabulary.of(suite)
    values = (v for e in evidence.runs for v in e.values(made[0].metric).values()) if made else ()
    script = asset("page.js") + (asset("viewer.js") if isinstance(suite, AnsweredSuite) else "")
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            suite=evidence.suite,
            question=suites.entry(evidence.suite).summary,
            css=Markup(asset("page.css")),
            js=Markup(script),
            js_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            styles=styles,
            runs=evidence.runs,
            counts=tallies(evidence, said.model),
            segmenter=trust.describe_accuracy(evidence),
            warnings=evidence.notes,
            departures=suite.departures,
            words=said,
            small=words.digits_for(values) - 1,
            **_results(evidence, suite, styles, found, said),
            steps=step_charts(evidence, suite, styles, found),
            **_all_tables(evidence, suite, styles, made),
            **(cards := _trajectories(evidence, suite, styles, made, films, said, higher=found.higher)),
            first=_first_screen(evidence, suite, found, said, cards["cards"]),
            troubles=troubles(evidence),
            ends=ENDS,
            provenance=provenance(evidence),
            commands=commands(evidence, open_suite(suite.name, {}).settings, suite.answerer_kind),
        )
    )


MOST_LETTERS = 90
"""Longest headline of a page. The line of the verdict below it has the rest."""
_CLAUSES = (", since ", ", better than", " better than", "; ", ". ")


@dataclass(frozen=True)
class FirstScreen:
    """What a page begins with. `verdict` is the rest of a shortened headline and the ranks, or why there are none.
    `cards` is 1 if the first task is a video at the top, else 0; `leads` are its tiles that are shown at first."""

    about: tuple[str, ...]
    headline: str
    verdict: str
    cards: int
    leads: tuple[str, ...]
    glosses: tuple[tuple[str, str], ...]


def _first_screen(
    evidence: Evidence, suite: Suite, found: Judgement, said: Vocabulary, cards: Sequence[TaskCard]
) -> FirstScreen:
    """The user's models with the best baseline. Without such models: the best of the others."""
    placed = found.compared.standings if found.compared else ()
    users = [run.label for run in evidence.runs if run.kind == "model"]
    fair = [one.label for one in placed if not one.flag and not evidence[one.label].privileged]
    best = [label for label in fair if label not in users][: 1 if users else 2]
    means = {one.label: one.mean for one in placed}
    first = next((run.label for run in evidence.runs if run.source in suite.floor_baselines[:1]), "")
    if best and means.get(first) == means[best[0]]:  # a tie: the floor that the suite names first
        best[0] = first
    shown = {TRUTH.label, START.label, *(e.label for e in evidence.runs if e.is_truth), *users[:3], *best}
    facts = evidence.runs[0].facts
    name, version, _ = set_cells(facts)
    tasks, clusters = len(evidence.groups), len(set(evidence.clusters.values()))
    about = (
        (listed(users) if len(users) < 4 else f"{len(users)} {said.model}s") or "Baselines only",
        f"{evidence.suite} v{facts['suite_version']}",
        "no named set" if name is None else f"{name} v{version}",
        f"{words.times(tasks, said.task, said.tasks)}, {words.times(clusters, 'cluster', 'clusters')}" if tasks else "",
        max(str(run.facts.get("created", ""))[:10] for run in evidence.runs),
    )
    whole, short = found.verdict.headline, shorten(found.verdict.headline)
    rest = whole if short.endswith("…") else whole[len(short) - 1 :].lstrip(":;,. ")
    ranks = [
        f"{one.label}: {f'no rank, {one.flag}' if one.flag else f'rank {one.rank} of {len(placed)}'}"
        for one in placed
        if found.compared is not None and found.compared.can_order and one.label in users[:3]
    ]
    ranked = f"{'; '.join(ranks)}." if ranks else ""
    if found.compared is not None and found.compared.pairs and not found.compared.can_order:
        ranked = f"No ranks: a test needs {FEWEST_CLUSTERS} clusters; there are {clusters}."
    tiles = [label for label, _ in cards[0].tiles] if cards else []
    return FirstScreen(
        tuple(filter(None, about)),
        short,
        " ".join(filter(None, [rest[:1].upper() + rest[1:], ranked])),
        int(bool(cards) and cards[0].film is not None),
        tuple(label for label in tiles if label in shown) or tuple(tiles),
        tuple(
            (run.label, gloss)
            for run in evidence.runs
            if run.kind == "baseline" and (gloss := words.explain_baseline(run.label))
        ),
    )


def shorten(headline: str) -> str:
    """The first clause of a headline that is too long."""
    if len(headline) <= MOST_LETTERS:
        return headline
    for mark in ("Nothing shows", "No row is in the running"):
        group, found, rest = headline.partition(mark)
        first = f"{group}{found}{rest.partition(': ')[0]}".rstrip(".")
        if found and len(first) < MOST_LETTERS:
            return f"{first}."
    # What is denied is denied of the comparison, which must stay.
    denied = any(part in headline for part in ("None of", "Neither of", "not one"))
    for clause in () if denied else _CLAUSES:
        first = headline.partition(clause)[0]
        if len(first) < min(MOST_LETTERS, len(headline)):
            return f"{first}."
    return f"{headline[: MOST_LETTERS - 1].rpartition(' ')[0]}…"


def assign_styles(evidence: Evidence) -> dict[str, SeriesStyle]:
    """One look per model for the whole page. The truth is ink."""
    styles: dict[str, SeriesStyle] = {}
    others = 0
    for place, run in enumerate(evidence.runs):
        if run.is_truth:
            colour = "k0"
        else:
            colour, others = look(others), others + 1
        styles[run.label] = SeriesStyle(f"s{place}", colour, run.label, run.kind == "baseline")
    return styles


def _results(
    evidence: Evidence, suite: Suite, styles: Mapping[str, SeriesStyle], found: Judgement, said: Vocabulary
) -> dict[str, Any]:
    """Verdict, headline table, charts, comparison: all by the headline metric."""
    compared, shown, name, higher = found.compared, found.shown, found.name, found.higher
    if compared is None:
        return {"name": "", "verdict": found.verdict, "headline": None, "panels": [], "budget": None, "matrix": []}
    headline = found.tables[0]
    metric, mixed = headline.metric, bool(headline.betters)
    unit = _in_unit(evidence, metric)
    # A table of several metrics has no columns to draw a panel of each; its own metric may not be one of frames.
    framed = _framed(evidence, found.tables) if mixed else metric
    sample = evidence.sample(framed)
    frame_name = name if framed == metric else words.metric_name(framed, sample.unit if sample else "1")
    by, panel_of = _panels(evidence, headline, framed, f"all {said.tasks}")
    budgets = charts.budgets(evidence)
    placed = compared.standings
    return {
        "name": name,
        "by": by,
        "mixed": mixed,
        "verdict": found.verdict,
        "headline": tables.view_table("headline", headline, styles, {e.label: e.sees for e in evidence.runs}),
        "sharp": charts.sharp_yet_wrong(evidence, styles, metric, name, compared, shown, suite.floor_baselines)
        if shown
        else None,
        "appearance": shown,
        "fewest_clusters": FEWEST_CLUSTERS,
        "fewest_different": FEWEST_DIFFERENT,
        "fewest_banded": FEWEST_BANDED,
        "frame_name": frame_name,
        "panels": charts.over_frames(
            evidence,
            styles,
            framed,
            frame_name,
            unit=unit if framed == metric else _in_unit(evidence, framed),
            cell_of=panel_of,
        ),
        "endless_frames": charts.endless_frames(evidence, framed),
        "endless": list(compared.endless.items()),
        "flagged": list(compared.flags.items()),
        "higher": higher,
        "ranking": charts.ranking(styles, name, placed, ranked=compared.can_order) if placed else None,
        "matrix": _matrix(compared),
        "pairs": compared.pairs,
        "tested": compared.tested,
        "can_order": compared.can_order,
        "clusters": max((pair.clusters for pair in compared.pairs), default=0),
        "budget": charts.memory_budget(styles, name, compared, budgets, unit=unit) if budgets else None,
    }


def _framed(evidence: Evidence, made: Sequence[Table]) -> str:
    """The first metric that has values for single frames: the headline where it has, else of the other scores."""
    order = dict.fromkeys([*(table.metric for table in made), *evidence.metrics])
    scored = (
        name for name in order for e in evidence.runs if any(s.series for s in e.by_metric.get(name, {}).values())
    )
    return next(scored, made[0].metric)


def _panels(
    evidence: Evidence, headline: Table, metric: str, everything: str
) -> tuple[str, Callable[[Mapping[str, Any]], str]]:
    """(the headline's columns in words, panel of a task's curve): one per column or cell; `everything` if too many."""
    tasks = {task for e in evidence.runs for task in e.by_metric.get(metric, {})}
    groups = [group for task, group in evidence.groups.items() if task in tasks]
    keys = None if headline.betters else columns_by(groups, headline.columns)
    if keys is not None:
        return listed(keys), lambda group: " ".join(str(group[key]) for key in keys)
    if headline.betters or len({cell_of(group) for group in groups}) > MOST_PANELS:
        return "", lambda _: everything
    return listed(keys_of(groups[0])) if groups else "", cell_of


def _matrix(compared: Comparison) -> list[tuple[Standing, list[tuple[PairDifference, bool] | None]]]:
    """Of each standing its differences to all, and whether they show a lead."""
    placed = compared.standings
    pairs = {both: (difference, compared.shows_lead(difference)) for both, difference in compared.signed.items()}
    return [(row, [pairs.get((row.label, column.label)) for column in placed]) for row in placed]


def _all_tables(
    evidence: Evidence, suite: Suite, styles: Mapping[str, SeriesStyle], made: Sequence[Table]
) -> dict[str, Any]:
    """Each table, beside the published one of its title, else the first of its metric; counts; absent metrics."""
    sees = {e.label: e.sees for e in evidence.runs}
    printed = list(suite.published())
    views, counted = [], []
    titles = {table.title for table in made}
    placed: set[str] = set()
    for place, table in enumerate(made):
        if table.unit == tables.COUNTS:
            counted.append(tables.view_table(f"table-{place}", table, styles, sees))
            continue
        if not any(cell.mean is not None for row in table.rows for cell in row.cells):
            continue
        same = [other for other in printed if other.metric == table.metric]
        published = next((other for other in same if other.title == table.title), None)
        if published is None and table.metric not in placed:
            published = next((other for other in same if other.title not in titles), None)
        placed.add(table.metric)
        if published is not None:
            printed.remove(published)
        if table.metric == trust.METRIC:
            table = replace(table, notes=(*table.notes, *filter(None, [trust.describe_categories(evidence)])))
        beside = tables.view_table(f"published-{place}", published, {}, {}, ours=False) if published else None
        views.append((tables.view_table(f"table-{place}", table, styles, sees), beside))
    alone = [tables.view_table(f"printed-{k}", table, {}, {}, ours=False) for k, table in enumerate(printed)]
    return {"tables": views, "counted": counted, "printed": alone, "absent": absent_metrics(evidence)}


def _trajectories(
    evidence: Evidence,
    suite: Suite,
    styles: Mapping[str, SeriesStyle],
    made: Sequence[Table],
    films: int,
    said: Vocabulary,
    *,
    higher: bool,
) -> dict[str, Any]:
    if not evidence.groups:
        return {"cards": [], "every": [], "left_out": 0, "cases": [], "card_of": {}}
    metric = made[0].metric
    named = [name for name in dict.fromkeys([*(t.metric for t in made), *evidence.metrics]) if evidence.has(name)]
    cases = find_extremes(evidence, metric, higher=higher)
    chosen = select_tasks(evidence, cases, room_for(suite, len(evidence.runs), films))
    units = {name for name in named if _in_unit(evidence, name)}
    cards = make_task_cards(evidence, suite, read_tasks(evidence, chosen), chosen, styles, named, units, said)
    left_out = len(evidence.groups) - len(chosen)
    every = list(evidence.groups) if left_out > 0 and len(evidence.groups) <= LISTED else []
    return {
        "cards": cards,
        "every": [(task, [e.values(metric).get(task) for e in evidence.runs]) for task in every],
        "left_out": left_out,
        "cases": cases,
        "card_of": {card.task: card.ident for card in cards},
    }


def _in_unit(evidence: Evidence, metric: str) -> bool:
    """True when all values lie in [0, 1] and make use of it: the axis then shows all of it."""
    values = [v for e in evidence.runs for v in e.values(metric).values()]
    return all(0 <= v <= 1 for v in values) and max(values, default=1.0) >= svg.NEAR_ONE


def environment(package: str | None = None) -> Environment:
    """Templates of `package` and of the report, which any of them can include, with the filters that they use."""

    def text_of(name: str) -> str | None:
        found = files(package or "") / name
        return found.read_text(encoding="utf-8") if found.is_file() else None

    own = [] if package is None else [FunctionLoader(text_of)]
    made = Environment(
        autoescape=True,
        loader=ChoiceLoader([*own, FunctionLoader(asset)]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(number=words.number, p_value=words.p_value, times=words.times)
    made.filters.update(explain_flag=words.explain_flag, explain_baseline=words.explain_baseline)
    return made


def asset(name: str) -> str:
    """Text of a file of this package."""
    return (files(__package__) / name).read_text(encoding="utf-8")
