"""Tables over models, and the notes under them: who is missing and why, and what must not be compared.

With them, the tables of the paper, each labelled with its revision, and what a report shows of one scenario next to its
videos: every path on the map, the corridor, how paths were found.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow, Task, TaskDetails
from worldgauge.engine.suite.scores import detectable_note, make_cell, row_kind, sort_rows
from worldgauge.metrics._registry import metric_bounds, metrics
from worldgauge.suites.targetbench.format.scenario import world_of_path
from worldgauge.suites.targetbench.metrics import PROFILES, RELEASED, corridor
from worldgauge.suites.targetbench.planners import current_pose, path_poses
from worldgauge.suites.targetbench.scoring import HEADLINE, METRICS, NAMES, SHOWN_PROFILES, baselines, comparison
from worldgauge.suites.targetbench.settings import TargetSettings
from worldgauge.suites.targetbench.tasks import scenario_of, scene_of

COLUMNS = dict(zip(METRICS, ("overall", "SE", "AC", "ADE (m)", "FDE (m)", "MR (%)"), strict=True))
"""Field of `PathScores` -> column."""
PRINTED = dict(zip(METRICS, ("wo", "se", "ac", "ade_m", "fde_m", "miss_rate_pct"), strict=True))
"""Field of `PathScores` -> key of the file of published tables."""
RELEASED_COLUMN = "as released"
"""Column of the leaderboard: the overall score under the profile that the published tables were made with."""
_RELEASED_NOTE = (
    f"{RELEASED_COLUMN!r}: the overall score under the profile released, to compare with the published tables."
)
WORST = {"overall": 0.0, "soft_endpoint": 0.0, "approach_consistency": 0.0, "miss_rate": 100.0}
"""What a failure counts as in the average over `all`; it has no distances."""
STATUSES = ("ok", "stationary", "partial", "no_scale", "failed")
NO_VIDEO = "no video"
LED = "given a path"
"""Group of models that follow the path of a planner and have not chosen it."""
TASKS = "tasks"
"""Unit of tables whose cells are numbers of tasks."""

LABELS = {"explicit": "named (explicit)", "implicit": "described (implicit)"}


def summarize(
    scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
) -> list[Table]:
    """All tables, the leaderboard first."""
    heads = {model: [s for s in own if s.metric == HEADLINE] for model, own in scores.items()}
    all_facts = [score.facts for own in heads.values() for score in own]
    profiles = sorted({fact["profile"] for fact in all_facts})
    decoders = listed(fact["decoder"] for fact in all_facts)
    chosen = outcomes_of(heads, kinds, failed)
    released = outcomes_of(heads, kinds, failed, RELEASED.name) if set(profiles) - {RELEASED.name} else None
    weights = tuple(weights_notes(profiles))
    horizons = sorted({float(fact["horizon_s"]) for fact in all_facts})
    asked = "".join(f", {horizon:g} s" for horizon in horizons)
    asked += ", re-planned" if any(fact["is_driven"] for fact in all_facts) else ""
    title = f"{{}}profile {listed(profiles)}, decoder {decoders}{asked}"
    tables = [
        _leaderboard(
            title.format("Paths to named targets, "),
            chosen,
            released=released,
            notes=(*notes_of(heads, chosen, kinds), *weights, *([_RELEASED_NOTE] if released else [])),
        ),
        _leaderboard(
            title.format("A failure counts as the worst, "),
            chosen,
            counting="all",
            notes=(
                "Over all expected scenarios. One without a path, or with only a part of it, counts 0 for SE, AC and "
                "overall, and 100 for the miss rate. It has no distances: ADE and FDE are over scored scenarios.",
                *weights,
            ),
        ),
    ]
    for label, meaning in LABELS.items():
        own = [entry.only("label", label) for entry in chosen]
        if any(entry.lines for entry in own):
            tables.append(_leaderboard(title.format(f"Targets that are {meaning}, "), own, notes=weights))
    tables += _by_group(title, chosen, weights)
    drives = comparison(scores, kinds, failed, decoders)
    if drives is not None:
        tables.insert(1, drives)
    by_profile = {name: outcomes_of(heads, kinds, failed, name) for name in dict.fromkeys([*profiles, *SHOWN_PROFILES])}
    tables.append(_by_profile(decoders, by_profile))
    tables.append(_statuses(heads, kinds, failed))
    return tables


def _leaderboard(
    title: str,
    entries: Sequence[ModelOutcomes],
    *,
    counting: Literal["scored", "all"] = "scored",
    released: Sequence[ModelOutcomes] | None = None,
    notes: tuple[str, ...],
) -> Table:
    """A row an entry; with `released`, the same entries under that profile, a column more for comparison."""
    rows = []
    for place, entry in enumerate(entries):
        first, *others = (_cell(entry, field, counting) for field in COLUMNS)
        beside = [] if released is None else [_cell(released[place], "overall", counting)]
        marks = (entry.group,) if entry.group else ()
        rows.append(TableRow(entry.label, (first, *beside, *others), entry.kind, "", marks, entry.group))
    overall, *terms = COLUMNS
    return Table(
        metric=HEADLINE,
        title=title,
        unit="1",
        better="higher",
        columns=(COLUMNS[overall], *([RELEASED_COLUMN] if released else []), *(COLUMNS[field] for field in terms)),
        rows=tuple(sort_rows(rows, "higher", 0)),
        notes=notes,
        betters=tuple(
            metrics.entry(METRICS[name]).facts["better"] for name in (overall, *([overall] if released else []), *terms)
        ),
    )


def _cell(entry: ModelOutcomes, field: str, counting: Literal["scored", "all"] = "scored") -> Cell:
    values: list[float | None] = []
    for line in entry.lines:
        if counting == "all" and line.failed and field in WORST:
            values.append(WORST[field])
        else:
            values.append(None if line.values is None else line.values[field])
    return make_cell(values, metric_bounds(METRICS[field]), clusters=[scene_of(line.task) for line in entry.lines])


def _by_group(title: str, entries: Sequence[ModelOutcomes], notes: tuple[str, ...]) -> Iterator[Table]:
    """The overall score by category, and by place where there are several."""
    for name, heading in (("category", "By target category, "), ("place", "By place, ")):
        found = sorted({line.of(name) for entry in entries for line in entry.lines})
        if len(found) < 2:
            continue
        rows = []
        for entry in entries:
            parts = [*(entry.only(name, part) for part in found), entry]
            rows.append(TableRow(entry.label, tuple(_cell(part, "overall") for part in parts), entry.kind))
        yield Table(
            HEADLINE, title.format(heading), "1", "higher", (*found, "all"), tuple(sort_rows(rows, "higher")), notes
        )


def _by_profile(decoders: str, by_profile: Mapping[str, Sequence[ModelOutcomes]]) -> Table:
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
            "aligned leaves the history out of the true path and divides the weights by their sum, paper_text is as "
            "printed.",
        ),
    )


def _statuses(
    heads: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
) -> Table:
    """How many paths were found, and what became of the rest."""
    columns = (*map(_plain, STATUSES), NO_VIDEO)
    rows = []
    for model, own in heads.items():
        counts = Counter(_plain(score.facts["status"]) for score in own)
        counts[NO_VIDEO] = len(failed.get(model, ()))
        expected = counts.total()
        cells = tuple(Cell(float(counts[name]), None, expected, expected=expected) for name in columns)
        rows.append(TableRow(model, cells, row_kind(kinds[model])))
    return Table("path/status", "Paths by outcome", TASKS, "neither", columns, tuple(rows), (_STATUS_NOTE,))


def _plain(status: str) -> str:
    return status.replace("_", " ")


_STATUS_NOTE = (
    "ok: the whole path was found. stationary: the camera does not move, a valid path. partial: a part of it, scored "
    "and flagged. no scale, failed: no path. no video: the model gave none, or the scenario could not be used."
)


Values = Mapping[str, float] | None


class ScenarioOutcome(NamedTuple):
    """One scenario of one row: values by field of `PathScores`, None without a path; whether it counts as failed."""

    task: str
    group: Mapping[str, Any]
    values: Values
    failed: bool
    why: str = ""

    def of(self, name: str) -> str:
        """Its label, category or place."""
        return str(self.group.get(name, "unknown"))


class ModelOutcomes(NamedTuple):
    """One row of every table: what became of each scenario, under one profile."""

    label: str
    kind: Literal["model", "baseline"]
    lines: tuple[ScenarioOutcome, ...]
    group: str = ""

    def only(self, name: str, value: str) -> ModelOutcomes:
        """The same row over the scenarios of one label, category or place."""
        return self._replace(lines=tuple(line for line in self.lines if line.of(name) == value))


def outcomes_of(
    heads: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    profile: str | None = None,
) -> list[ModelOutcomes]:
    """Rows under one profile, then those of the baselines."""
    entries = []
    for model, own in heads.items():
        lines = [_line(score, profile) for score in own]
        lines += [ScenarioOutcome(f.task, f.group, None, True, f.error) for f in failed.get(model, ())]
        kind = row_kind(kinds[model])
        led = kind == "model" and any(score.facts["planner"] is not None for score in own)
        entries.append(ModelOutcomes(model, kind, tuple(lines), LED if led else ""))
    tasks = {score.task: score for own in heads.values() for score in own}
    for name in NAMES:
        lines = [
            ScenarioOutcome(
                task, score.group, score.facts["baselines"][name].get(profile or score.facts["profile"]), False
            )
            for task, score in sorted(tasks.items())
        ]
        entries.append(ModelOutcomes(name, "baseline", tuple(lines)))
    return entries


def _line(score: Score, profile: str | None) -> ScenarioOutcome:
    values: Values = None
    if score.value is not None:
        values = score.facts["profiles"].get(profile or score.facts["profile"])
    whole = values is not None and score.facts["status"] != "partial"
    return ScenarioOutcome(score.task, score.group, values, not whole, score.reason or "")


def notes_of(
    heads: Mapping[str, Sequence[Score]], entries: Sequence[ModelOutcomes], kinds: Mapping[str, str]
) -> Iterator[str]:
    """Lines under the leaderboard."""
    models = [entry for entry in entries if entry.label in heads]
    all_facts = [score.facts for own in heads.values() for score in own]
    yield from _lost(models)
    yield from _uncertain(all_facts)
    if not any(label.startswith(("truth", "gt_video")) for label in heads):
        yield "The row of the ground-truth video is missing. It shows the error of the decoder: add --model truth."
    for what in ("decoder", "profile"):
        if len({fact[what] for fact in all_facts}) > 1:
            yield f"These rows were made with different {what}s and must not be compared."
    yield from _given_paths(heads, kinds)
    yield f"{', '.join(NAMES)} need no video: the ground-truth path, no motion, and the history's speed straight ahead."
    if len(models) > 1:
        values = {
            entry.label: {line.task: line.values["overall"] for line in entry.lines if line.values} for entry in models
        }
        clusters = {line.task: scene_of(line.task) for entry in models for line in entry.lines}
        yield detectable_note(values, kinds, "scenarios", clusters, metric_bounds(HEADLINE))


def weights_notes(profiles: Iterable[str]) -> Iterator[str]:
    """Notes that a perfect path does not score 1, for profiles whose weights do not add up to 1."""
    sums = {round(sum(PROFILES[name].weights), 9) for name in profiles}
    for total in sorted(sums - {1.0}):
        yield f"The weights of the overall score add up to {total:.2f}: no path scores 1."


def listed(names: Iterable[str]) -> str:
    """The names in words, each once: "aligned and released"."""
    return " and ".join(sorted(set(names))) or "none"


def _lost(models: Sequence[ModelOutcomes]) -> Iterator[str]:
    """How many answers there should be, and why some have no path."""
    expected = sum(len(entry.lines) for entry in models)
    lost = [line for entry in models for line in entry.lines if line.values is None]
    yield f"{expected} answers expected = {expected - len(lost)} paths scored + {len(lost)} without a path."
    alike: dict[str, list[str]] = {}
    for line in lost:
        text = line.why.removeprefix("scoring: ").rstrip(".")
        alike.setdefault(_DETAIL.sub("#", line.why), []).append(text if len(text) <= 120 else text[:117] + "...")
    for reasons in alike.values():
        yield f"{len(reasons)} without: {reasons[0]}{', and alike' if len(set(reasons)) > 1 else ''}."


def _uncertain(all_facts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Paths that are scored and may not be what the video shows."""
    partial = sum(fact["status"] == "partial" for fact in all_facts)
    if partial:
        yield f"{partial} scored paths are only a part of what their video shows."
    fallen = Counter(fact["diagnostics"].get("decoder_used", fact["decoder"]) for fact in all_facts if fact["xy"])
    for name, count in sorted(fallen.items()):
        if name not in {fact["decoder"] for fact in all_facts}:
            yield f"{count} paths were found by the fallback {name}."


def _given_paths(heads: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> Iterator[str]:
    """Who was led along a planner's path."""
    driven = {}
    for label, own in heads.items():
        # Baselines that take actions do nothing with them here: a planner's path does not make their videos.
        led = [s for s in own if s.facts["control"] == "camera" or kinds[label] == "model"]
        driven[label] = sorted({str(s.facts["planner"]) for s in led if s.facts["planner"] is not None})
    if any(driven.values()):
        given = "; ".join(f"{label}: {', '.join(names)}" for label, names in driven.items() if names)
        yield (
            f"Models that cannot read were given the path of a planner; their rows test how well they follow it, not "
            f"how well they plan ({given})."
        )


_DETAIL = re.compile(r"\S*/\S*|\S+_custom_segment_\S+|\d+(\.\d+)?")
"""Files, scenarios and numbers, in which reasons of one kind differ."""


N_BENCHMARK, N_EXPLICIT, N_IMPLICIT = 125, 73, 52
"""Scenarios; the last two are derived from the tables, not printed."""


def published() -> list[Table]:
    """Tables 1 to 4 of the paper. They are about other data and other decoders, so cells are never compared."""
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    one, two, three, four = (data[f"table{number}"] for number in (1, 2, 3, 4))
    horizons = [{**row, "model": f"{row['model']}, {row['horizon_s']} s"} for row in four["rows"]]
    printed: list[tuple[str, Iterable[Mapping[str, Any]], int, str]] = [
        ("Table 1, decoder vggt", one["rows"], N_BENCHMARK, "Whether all scenarios were scored is not said."),
        ("Table 2, explicit targets, decoder vggt", two["explicit"], N_EXPLICIT, "n is derived, not printed."),
        ("Table 2, implicit targets, decoder vggt", two["implicit"], N_IMPLICIT, "n is derived, not printed."),
        ("Table 3, decoder spatracker", three["spatracker"], N_BENCHMARK, _sentence(three["note"]) + "."),
        ("Table 3, decoder vipe", three["vipe"], N_BENCHMARK, _sentence(three["note"]) + "."),
        (
            "Table 4, horizons, decoder vggt",
            horizons,
            N_BENCHMARK,
            "The rows of 6 and 4 s cut the history, those of 8 s do not (inferred): their ADE and MR do not compare.",
        ),
    ]
    source = f"{data['source']}. {_sentence(data['later_revision']['note'])}."
    return [_table(title, rows, n, (source, note)) for title, rows, n, note in printed]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(title: str, rows: Iterable[Mapping[str, Any]], n: int, notes: tuple[str, ...]) -> Table:
    return Table(
        metric="path/overall",
        title=f"{title}, as published",
        unit="1",
        better="higher",
        columns=tuple(COLUMNS.values()),
        rows=tuple(
            TableRow(row["model"], tuple(Cell(row[PRINTED[field]], None, n) for field in COLUMNS), "published")
            for row in rows
        ),
        notes=notes,
        betters=("higher", "higher", "higher", "lower", "lower", "lower"),
    )


SHOWN_DIAGNOSTICS = ("reprojection_px", "points_per_frame", "disagreement", "cross_check", "decoder_used")


def task_details(task: Task, scores: Mapping[str, Sequence[Score]], settings: TargetSettings) -> TaskDetails:
    """Return paths of all models and baselines in the plane of `TaskView.poses`."""
    scenario = scenario_of(task, settings, parity=settings.parity)
    pose = current_pose(scenario)
    heads = {label: score for label, own in scores.items() for score in own if score.metric == HEADLINE}
    paths: dict[str, FloatArray] = {"truth path": path_poses(scenario)[scenario.history_rows :, :2, 3]}
    lines = baselines(scenario)
    paths |= {name: world_of_path(line, pose) for name, line in lines.items() if name not in paths}
    stills, diagnostics = {}, {}
    for label, score in heads.items():
        facts = score.facts
        if facts["xy"]:
            paths[label] = world_of_path(np.array(facts["xy"]), pose)
        if facts["frame_indices"]:
            stills[label] = facts["frames_shown"]
        found, total = facts["registered"]
        diagnostics[label] = {
            "status": facts["status"].replace("_", " "),
            "why": facts["reason"],
            "overall": score.value,
            "decoder": facts["decoder"],
            "planner": facts["planner"] or "",
            "frames": f"{found} of {total}" if total else "",
            "scale": facts["scale"],
            **{name: facts["diagnostics"][name] for name in SHOWN_DIAGNOSTICS if name in facts["diagnostics"]},
        }
    profile = PROFILES[settings.profile]
    truth = scenario.future_xy if profile.cut_history else scenario.path_xy
    circles = corridor(truth, profile)
    placed = np.column_stack([world_of_path(circles[:, :2], pose), circles[:, 2]])
    return TaskDetails(paths, placed, stills, diagnostics, scenario.target_text)
