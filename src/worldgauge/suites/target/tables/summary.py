"""Tables: the leaderboard with every column of the paper, averaged two ways, by label, category and profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from worldgauge.engine.suite.contract import Better, Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.tables import make_cell, sort_rows
from worldgauge.metrics import metrics
from worldgauge.suites.target.replan.tables import comparison
from worldgauge.suites.target.scoring import HEADLINE, METRICS, SHOWN_PROFILES
from worldgauge.suites.target.tables.entries import Entry, Line, entries_of, kind_of
from worldgauge.suites.target.tables.notes import is_doubted, listed, notes_of, weights_notes

COLUMNS = {
    "overall": "overall",
    "soft_endpoint": "SE",
    "approach_consistency": "AC",
    "ade": "ADE (m)",
    "fde": "FDE (m)",
    "miss_rate": "MR (%)",
}
"""Field of `PathScores` -> column."""
WORST = {"overall": 0.0, "soft_endpoint": 0.0, "approach_consistency": 0.0, "miss_rate": 100.0}
"""What a failure counts as in the average over `all`; it has no distances."""
STATUSES = ("ok", "stationary", "partial", "no_scale", "failed")
NO_VIDEO, DOUBTED = "no video", "doubted"
TASKS = "tasks"
"""Unit of tables whose cells are numbers of tasks."""

LABELS = ("explicit", "implicit")


def summarize(
    scores: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
) -> list[Table]:
    """All tables, the leaderboard first. kinds, failed: see `Suite.summarize`."""
    heads = {subject: [s for s in own if s.metric == HEADLINE] for subject, own in scores.items()}
    told = [score.facts for own in heads.values() for score in own]
    profiles = sorted({fact["profile"] for fact in told})
    decoders = listed(fact["decoder"] for fact in told)
    chosen = entries_of(heads, kinds, failed)
    weights = tuple(weights_notes(profiles))
    horizons = sorted({float(fact["horizon_s"]) for fact in told})
    asked = "".join(f", {horizon:g} s" for horizon in horizons)
    asked += ", re-planned" if any(fact["is_driven"] for fact in told) else ""
    title = f"{{}}profile {listed(profiles)}, decoder {decoders}{asked}"
    tables = [
        _leaderboard(
            title.format("Paths to named targets, "), chosen, notes=(*notes_of(heads, chosen, kinds), *weights)
        ),
        _leaderboard(
            title.format("A failure counts as the worst, "),
            chosen,
            counting="all",
            notes=(
                "Over all scenarios that were to be answered: one without a path counts 0 for SE, AC and overall and "
                "100 for the miss rate, and so does a path of which only a part was found. It has no distances, so ADE "
                "and FDE are over the scored ones.",
                *weights,
            ),
        ),
    ]
    for label in LABELS:
        own = [entry.only(lambda line, label=label: line.group.get("label") == label) for entry in chosen]  # type: ignore[misc]
        if any(entry.lines for entry in own):
            tables.append(_leaderboard(title.format(f"Targets that are {_MEANING[label]}, "), own, notes=weights))
    tables += _by_group(title, chosen, weights)
    drives = comparison(scores, kinds, failed, decoders)
    if drives is not None:
        tables.insert(1, drives)
    by_profile = {name: entries_of(heads, kinds, failed, name) for name in dict.fromkeys([*profiles, *SHOWN_PROFILES])}
    tables.append(_by_profile(decoders, by_profile))
    tables.append(_statuses(heads, kinds, failed))
    return tables


_MEANING = {"explicit": "named (explicit)", "implicit": "described (implicit)"}


def _leaderboard(
    title: str,
    entries: Sequence[Entry],
    *,
    counting: Literal["scored", "all"] = "scored",
    notes: tuple[str, ...],
) -> Table:
    rows = [
        TableRow(entry.label, tuple(_cell(entry, field, counting) for field in COLUMNS), entry.kind)
        for entry in entries
    ]
    return Table(
        metric=HEADLINE,
        title=title,
        unit="1",
        better="higher",
        columns=tuple(COLUMNS.values()),
        rows=tuple(sort_rows(rows, "higher", 0)),
        notes=notes,
        betters=tuple(_better(field) for field in COLUMNS),
    )


def _cell(entry: Entry, field: str, counting: Literal["scored", "all"] = "scored") -> Cell:
    low, high = metrics.entry(METRICS[field]).facts["bounds"]
    values: list[float | None] = []
    for line in entry.lines:
        if counting == "all" and line.failed and field in WORST:
            values.append(WORST[field])
        else:
            values.append(None if line.values is None else line.values[field])
    return make_cell(values, (low, high), expected=len(entry.lines))


def _by_group(title: str, entries: Sequence[Entry], notes: tuple[str, ...]) -> Iterator[Table]:
    """The overall score by category, and by place where there are several."""
    for name, heading in (("category", "By what is asked for, "), ("place", "By place, ")):
        found = sorted({str(line.group.get(name, "unknown")) for entry in entries for line in entry.lines})
        if found == ["unknown"] or len(found) < 2:
            continue
        parts: list[tuple[str, Callable[[Line], bool]]] = [
            (one, lambda line, one=one: str(line.group.get(name, "unknown")) == one)  # type: ignore[misc]  # noqa: B023
            for one in found
        ]
        rows = [
            TableRow(
                entry.label,
                (*(_cell(entry.only(keep), "overall") for _, keep in parts), _cell(entry, "overall")),
                entry.kind,
            )
            for entry in entries
        ]
        yield Table(
            HEADLINE,
            title.format(heading),
            "1",
            "higher",
            (*(one for one, _ in parts), "all"),
            tuple(sort_rows(rows, "higher")),
            notes,
        )


def _by_profile(decoders: str, by_profile: Mapping[str, Sequence[Entry]]) -> Table:
    """The overall score under every profile, side by side."""
    first = next(iter(by_profile.values()))
    rows = [
        TableRow(entry.label, tuple(_cell(entries[place], "overall") for entries in by_profile.values()), entry.kind)
        for place, entry in enumerate(first)
    ]
    return Table(
        HEADLINE,
        f"Overall score by profile, decoder {decoders}",
        "1",
        "higher",
        tuple(by_profile),
        tuple(sort_rows(rows, "higher", 0)),
        (
            "The constants printed in the paper are not those of its tables (inferred): released fits the tables, "
            "aligned leaves the history out of the true path, paper_text is as printed.",
        ),
    )


def _statuses(
    heads: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
) -> Table:
    """How many paths were found, and what became of the rest."""
    columns = (*map(_plain, STATUSES), NO_VIDEO, DOUBTED)
    rows = []
    for subject, own in heads.items():
        counts = Counter(_plain(score.facts["status"]) for score in own)
        counts[NO_VIDEO] = len(failed.get(subject, ()))
        expected = counts.total()
        counts[DOUBTED] = sum(is_doubted(score.facts) for score in own)
        cells = tuple(Cell(float(counts[name]), None, expected, expected=expected) for name in columns)
        rows.append(TableRow(subject, cells, kind_of(kinds[subject])))
    return Table("path/status", "What became of the videos", TASKS, "neither", columns, tuple(rows), (_STATUS_NOTE,))


def _plain(status: str) -> str:
    return status.replace("_", " ")


_STATUS_NOTE = (
    "ok: the whole path was found. stationary: the camera does not move, a valid path. partial: a part of it, scored "
    "and flagged. no scale, failed: no path. no video: the model gave none, or the scenario could not be used. "
    "doubted: scored, but a second decoder sees another path, or none; counted among the first three as well."
)


def _better(field: str) -> Better:
    better: Better = metrics.entry(METRICS[field]).facts["better"]
    return better
