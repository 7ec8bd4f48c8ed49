"""Tables: means over clips, first and third person apart; the paper's columns, by path, by action, with baselines.

The paper's own tables stand beside them, and later results on its memory test, labelled as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.engine.suite import drift, returned
from worldgauge.engine.suite.contract import Better, Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.scores import (
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    make_cell,
    score_cell,
    sort_rows,
)
from worldgauge.metrics._registry import metric_bounds, metrics
from worldgauge.suites.mind.metrics.scene_consistency import MOTION_SHARE, moves
from worldgauge.suites.mind.settings import Settings
from worldgauge.suites.mind.tasks import PARTS, VIEWS

HEADLINE = "lcm/mse_720p"
BOTH = "both"
PAPER = {"first person": "mind/first", "third person": "mind/third"}
"""Perspective -> name of the table that has the columns of the paper's."""
STILL, UNJUDGED, POSED = "does not move", "motion not judged", "pose-conditioned"
SHORT, LONGER = "of the frames", "longer than asked for"
_UNITS = "Translation errors are in units of the true poses, which are not the engine's here."

TOLD_BY = {"mem": HEADLINE, "action_space": "asg/mse_720p", "mirror": "out_leg_motion"}
"""Test -> the scores whose facts say what its videos are: how much they move, how long and how fast they are."""


class MetricLine(NamedTuple):
    """Where a table's numbers come from."""

    metric: str
    title: str


_COLOURS = {name: title[0].lower() + title[1:] for name, title in drift.TITLES.items()}
_CAMERA = {
    "move_cosine": "cosine of the directions of motion",
    "turn_cosine": "cosine of the directions of turning",
    "key_latency": "time until a change of keys is answered",
    "keys_answered": "share of the changes of keys that are answered",
}
LINES = (
    MetricLine(HEADLINE, "Long context memory: mean squared error"),
    MetricLine("lcm/psnr_720p", "Long context memory: PSNR"),
    MetricLine("lcm/ssim_720p", "Long context memory: SSIM"),
    MetricLine("lcm/detail", "Long context memory: detail, at the model's own size"),
    MetricLine("lcm/lpips_720p", "Long context memory: LPIPS"),
    *(MetricLine(f"lcm/{name}", title) for name, title in returned.TITLES.items()),
    *(MetricLine(f"lcm/{name}", f"Long context memory: {title}") for name, title in _COLOURS.items()),
    MetricLine("gsc_aligned_mse", "Generated scene consistency, states paired exactly: mean squared error"),
    MetricLine(
        "gsc_aligned_detail", "Generated scene consistency, states paired exactly: detail, at the model's own size"
    ),
    MetricLine("gsc_mse", "Generated scene consistency as released, one action apart: mean squared error"),
    MetricLine("asg/mse_720p", "Action space generalisation: mean squared error"),
    MetricLine("asg/detail", "Action space generalisation: detail, at the model's own size"),
    MetricLine("lcm/rpe_trans", "Action accuracy, memory test: translation error a frame"),
    MetricLine("lcm/rpe_rot_deg", "Action accuracy, memory test: rotation error a frame"),
    *(MetricLine(f"lcm/{name}", f"Action accuracy, memory test: {title}") for name, title in _CAMERA.items()),
    MetricLine("asg/rpe_trans", "Action accuracy, other action spaces: translation error a frame"),
    MetricLine("asg/rpe_rot_deg", "Action accuracy, other action spaces: rotation error a frame"),
    *(MetricLine(f"asg/{name}", f"Action accuracy, other action spaces: {title}") for name, title in _CAMERA.items()),
    MetricLine("lcm/dino_mse", "DINO feature distance, memory test"),
    MetricLine("lcm/aesthetic", "Aesthetic quality, memory test"),
    MetricLine("lcm/imaging", "Imaging quality, memory test"),
    MetricLine("gsc_aligned_psnr", "Generated scene consistency, states paired exactly: PSNR"),
    MetricLine("gsc_aligned_ssim", "Generated scene consistency, states paired exactly: SSIM"),
    MetricLine("gsc_aligned_lpips", "Generated scene consistency, states paired exactly: LPIPS"),
    MetricLine("gsc_lpips", "Generated scene consistency as released: LPIPS"),
    MetricLine("asg/psnr_720p", "Action space generalisation: PSNR"),
    MetricLine("asg/ssim_720p", "Action space generalisation: SSIM"),
    MetricLine("asg/lpips_720p", "Action space generalisation: LPIPS"),
    MetricLine("asg/dino_mse", "DINO feature distance, other action spaces"),
    MetricLine("asg/aesthetic", "Aesthetic quality, other action spaces"),
    MetricLine("asg/imaging", "Imaging quality, other action spaces"),
    MetricLine("out_leg_motion", "Motion between the start image and the turn"),
)
"""Tables by perspective, headline first."""
OVER_TIME = (
    "lcm/mse_720p",
    "lcm/ssim_720p",
    "lcm/detail",
    "lcm/lpips_720p",
    *(f"lcm/{name}" for name in _COLOURS),
    "lcm/move_cosine",
    "lcm/turn_cosine",
)
"""Scores that also have a table by time after the context."""


def summarize(
    scores: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    settings: Settings,
) -> list[Table]:
    """All tables, long context memory first."""
    entries = [_SubjectScores(name, kinds[name], own, failed.get(name, ())) for name, own in scores.items()]
    seen = {_place(task)[1] for e in entries for task in (*(s.task for s in e.scores), *(f.task for f in e.failed))}
    views = [view for view in VIEWS.values() if view in seen]
    tables = {
        line.metric: _by_view(line, entries, views) for line in LINES if any(one.of(line.metric) for one in entries)
    }
    over_time = drift.time_tables(
        {metric: tables[metric].title for metric in OVER_TIME if metric in tables}, scores, kinds
    )
    found = [tables.pop(metric) for metric in (HEADLINE, "lcm/detail") if metric in tables]
    found += [_as_in_paper(view, entries, settings) for view in views]
    for metric, table in tables.items():
        found.append(table)
        found += _finer(metric, entries, views)
        if metric.rpartition("/")[2] in returned.TITLES:
            found += filter(None, [returned.curve_table(metric, table.title, scores, kinds)])
    found += over_time
    return found if settings.truth_poses == "engine" else [_unitless(table) for table in found]


class _SubjectScores:
    """One subject: its scores by metric, its failures, and why it must not be taken at its face."""

    def __init__(self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure]) -> None:
        self.label = label
        self.kind: Literal["subject", "reference"] = "reference" if kind == "reference" else "subject"
        self.scores = scores
        self.failed = failed
        self._by_metric: dict[str, list[Score]] = {}
        for score in scores:
            self._by_metric.setdefault(score.metric, []).append(score)

    def of(self, metric: str, view: str | None = None) -> Sequence[Score]:
        """Its scores of a perspective, of both for None."""
        return [s for s in self._by_metric.get(metric, ()) if view in (None, s.group["perspective"])]

    def cell(self, metric: str, view: str | None = None) -> Cell:
        """Mean over the clips of a perspective, of both for None; failed ones are expected."""
        return _cell(metric, self.of(metric, view), len(self.failures(metric, view)))

    def failures(self, metric: str, view: str | None = None) -> Sequence[Failure]:
        """Of the test that a score is of; known by the task's id, since a damaged record has no group."""
        places = [(f, _place(f.task)) for f in self.failed]
        return [f for f, (test, where) in places if test == _test_of(metric) and view in (None, where)]

    def flag(self, metric: str, view: str | None = None) -> str:
        """Why a row must not be taken at its face, in a few words: of the videos of the test that `metric` is of."""
        videos = [s.facts for s in self.of(TOLD_BY[_test_of(metric)], view)]
        said = []
        if self.kind == "subject" and any(facts.get("control") == "camera" for facts in videos):
            said.append(POSED)
        judged = [
            moves(facts["motion"], facts["real_motion"])
            for facts in videos
            if facts.get("motion") is not None and facts["real_motion"]
        ]
        if judged and sum(judged) * 2 <= len(judged):
            said.append(STILL)
        if not judged and any(facts.get("motion") is not None for facts in videos):
            said.append(UNJUDGED)
        asked = sum(facts["frames_asked"] for facts in videos)
        scored = sum(facts["frames_scored"] for facts in videos)
        if scored < asked:
            said.append(f"{scored / asked:.0%} {SHORT}")
        if any(facts.get("is_longer") for facts in videos):
            said.append(LONGER)
        # Frames are compared one by one with the recording's, whatever their rate.
        rates = {facts["fps"] for facts in videos if abs(facts["fps"] - facts["recorded_fps"]) > 0.01}
        said += [f"{rate:g} frames/s" for rate in sorted(rates)]
        return ", ".join(said)


def _by_view(line: MetricLine, entries: Sequence[_SubjectScores], views: Sequence[str]) -> Table:
    columns: list[str | None] = [*views, None] if len(views) > 1 else list(views)
    rows = []
    for entry in entries:
        own = entry.of(line.metric)
        if not own and not entry.failures(line.metric):
            continue
        cells = tuple(entry.cell(line.metric, view) for view in columns)
        rows.append(TableRow(entry.label, cells, entry.kind, entry.flag(line.metric)))
    if line.metric.endswith("rpe_trans") or line.metric.endswith("rpe_rot_deg"):
        rows += _frozen_rows(line.metric, entries, columns)
    unit, better = _declared(line.metric)
    return Table(
        metric=line.metric,
        title=line.title,
        unit=unit,
        better=better,
        columns=tuple(view or BOTH for view in columns),
        rows=tuple(sort_rows(rows, better)),
        notes=tuple(_notes(line.metric, entries)),
    )


def _as_in_paper(view: str, entries: Sequence[_SubjectScores], settings: Settings) -> Table:
    """One row a model, the columns of the paper's Table 2 or 3."""
    columns = paper_columns(settings)
    rows = []
    for entry in entries:
        cells = tuple(entry.cell(metric, view) for metric in columns)
        if any(cell.expected for cell in cells):
            flags = dict.fromkeys(flag for metric in columns for flag in [entry.flag(metric, view)] if flag)
            rows.append(TableRow(entry.label, cells, entry.kind, "; ".join(flags)))
    betters = tuple(_declared(metric)[1] for metric in columns)
    pairing = "paired exactly" if settings.pairing == "aligned" else "as released, one action apart"
    return Table(
        metric=PAPER[view],
        title=f"All measures, {view}",
        unit="1",
        better=betters[0],
        columns=tuple(columns.values()),
        rows=tuple(sort_rows(rows, betters[0], 0)),
        notes=(
            f"Consistency (GSC): states {pairing}. Means over clips; quality and action accuracy over the memory test.",
            "Translation errors are metres here and units of an estimator's own scale in the paper."
            if settings.truth_poses == "engine"
            else _UNITS,
        ),
        betters=betters,
    )


def paper_columns(settings: Settings | None = None) -> dict[str, str]:
    """Columns of the paper's Tables 2 and 3 by name of the scores."""
    aligned = settings is None or settings.pairing == "aligned"
    return {
        HEADLINE: "memory (MSE)",
        "gsc_aligned_mse" if aligned else "gsc_mse": "consistency (MSE)",
        "asg/mse_720p": "action space (MSE)",
        "lcm/aesthetic": "aesthetic",
        "lcm/imaging": "imaging",
        "lcm/rpe_trans": "RPE trans",
        "lcm/rpe_rot_deg": "RPE rot (deg)",
    }


def _finer(metric: str, entries: Sequence[_SubjectScores], views: Sequence[str]) -> Iterator[Table]:
    """What stands behind a table, by perspective: by path, by action space, by action."""
    if metric == "gsc_aligned_mse":
        for view in views:
            yield from _by_group(metric, "path", "Consistency by path, states paired exactly", entries, view)
    elif metric == "asg/mse_720p":
        for view in views:
            yield from _by_group(metric, "space", "Action space generalisation by space", entries, view)
    elif metric == "lcm/rpe_rot_deg":
        for name, what in (("trans_mean", "translation"), ("rot_deg_mean", "rotation")):
            source = "lcm/rpe_trans" if name == "trans_mean" else metric
            for key, by in (("groups", "group"), ("actions", "action")):
                title = f"Action accuracy by {by}: {what} error a frame"
                for view in views:
                    yield from _by_fact(source, key, name, title, entries, view)
        for view in views:
            yield from _yardsticks(entries, view)


def _by_group(metric: str, key: str, title: str, entries: Sequence[_SubjectScores], view: str) -> Iterator[Table]:
    groups = [score.group for e in entries for score in e.of(metric, view)]
    groups += [failure.group for e in entries for failure in e.failures(metric, view)]
    names = list(dict.fromkeys(str(group[key]) for group in groups if key in group))
    rows = []
    for entry in entries:
        cells = tuple(
            _cell(
                metric,
                [s for s in entry.of(metric, view) if str(s.group.get(key)) == name],
                len([f for f in entry.failures(metric, view) if str(f.group.get(key)) == name]),
            )
            for name in names
        )
        if any(cell.expected for cell in cells):
            rows.append(TableRow(entry.label, cells, entry.kind, entry.flag(metric, view)))
    if rows:
        unit, better = _declared(metric)
        ordered_rows = tuple(sort_rows(rows, better, 0))
        yield Table(f"{metric}/{key}/{view}", f"{title}, {view}", unit, better, tuple(names), ordered_rows)


def _by_fact(
    metric: str, key: str, name: str, title: str, entries: Sequence[_SubjectScores], view: str
) -> Iterator[Table]:
    """Means over clips of what each clip says of its groups or actions; nothing where none says anything."""
    counts: dict[str, int] = {}
    for facts in [s.facts.get(key, {}) for e in entries for s in e.of(metric, view)]:
        for label, stats in facts.items():
            counts[label] = counts.get(label, 0) + int(stats["count"])
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    if not labels:
        return
    rows = []
    for entry in entries:
        own = entry.of(metric, view)
        cells = tuple(
            _fact_cell([(score, stats[label][name]) for score in own if label in (stats := score.facts.get(key, {}))])
            for label in labels
        )
        if own:
            rows.append(TableRow(entry.label, cells, entry.kind, entry.flag(metric, view)))
    unit, better = _declared(metric)
    yield Table(
        f"{metric}/{key}/{view}",
        f"{title}, {view}",
        unit,
        better,
        tuple(labels),
        tuple(sort_rows(rows, better, 0)),
        ("Most frequent first; n counts clips in which it occurs.",),
        bars=key == "actions",
    )


def _yardsticks(entries: Sequence[_SubjectScores], view: str) -> Iterator[Table]:
    """What an error of action accuracy is to be compared with."""
    metric = "lcm/rpe_trans"
    fields = {
        "scale": "scale of the alignment",
        "truth_step_m": "true step",
        "frozen_trans_m": "error of a still camera",
        "frozen_rot_deg": "its error in turning (deg)",
    }
    rows = []
    for entry in entries:
        own = entry.of(metric, view)
        if own:
            cells = tuple(_fact_cell([(score, score.facts.get(name)) for score in own]) for name in fields)
            rows.append(TableRow(entry.label, cells, entry.kind, entry.flag(metric, view)))
    if rows:
        yield Table(
            f"{metric}/yardsticks/{view}",
            f"What action accuracy is read beside, {view}",
            "1",
            "neither",
            tuple(fields.values()),
            tuple(rows),
            (
                "The alignment supplies a scale alone: where the motion has nothing to do with the truth's it goes to "
                "0, and the translation error to that of a camera that does not move.",
            ),
            betters=tuple("neither" for _ in fields),
        )


def _frozen_rows(metric: str, entries: Sequence[_SubjectScores], columns: Sequence[str | None]) -> list[TableRow]:
    """The floor of motion: what a camera that never moves would be given on the same clips."""
    name = "frozen_trans_m" if metric.endswith("rpe_trans") else "frozen_rot_deg"
    by_task: dict[str, Score] = {}
    for entry in entries:
        for score in entry.of(metric):
            if score.facts.get(name) is not None:
                by_task.setdefault(score.task, score)
    cells = tuple(
        _fact_cell([(s, s.facts[name]) for s in by_task.values() if view in (None, s.group["perspective"])])
        for view in columns
    )
    return [TableRow("a still camera", cells, "reference", STILL)] if by_task else []


def _cell(metric: str, scores: Sequence[Score], lost: int = 0) -> Cell:
    return score_cell(scores, metric_bounds(metric), len(scores) + lost)


def _fact_cell(told: Sequence[tuple[Score, float | None]]) -> Cell:
    """Mean of something that scores say beside their value."""
    return make_cell([value for _, value in told], (0.0, np.inf), clusters=[cluster_of_score(s) for s, _ in told])


def _notes(metric: str, entries: Sequence[_SubjectScores]) -> Iterator[str]:
    reasons: dict[str, int] = {}
    infinite = 0
    horizons: set[Any] = set()
    for entry in entries:
        for score in entry.of(metric):
            horizons.add(score.facts.get("horizon"))
            if score.value is None:
                reasons[score.reason or ""] = reasons.get(score.reason or "", 0) + 1
            elif not np.isfinite(score.value):
                infinite += 1
    if len(horizons) > 1:
        yield "Rows were asked for different horizons: they must not be compared."
    for reason, count in sorted(reasons.items()):
        yield f"{count} {'score is' if count == 1 else 'scores are'} missing: {reason}."
    if infinite:
        yield f"{infinite} scores are infinite (identical frames) and left out of means."
    flags = [entry.flag(metric) for entry in entries]
    if any(SHORT in flag for flag in flags):
        yield f"'% {SHORT}': of those asked for, in the clips that were scored; the rest is not there."
    if any(LONGER in flag for flag in flags):
        yield f"{LONGER!r}: only the beginning of its videos was scored, from frame mark_time on."
    if any(STILL in flag for flag in flags):
        yield f"{STILL!r}: less than {MOTION_SHARE:.0%} of the motion of real clips in at least half of the videos."
    if len(entries) > 1:
        clusters = clusters_by_task({e.label: e.of(metric) for e in entries})
        values = {e.label: {s.task: s.value for s in e.of(metric)} for e in entries}
        yield detectable_note(values, {e.label: e.kind for e in entries}, "clips", clusters, metric_bounds(metric))


def _place(task: str) -> tuple[str, str]:
    """Test and perspective of a task, by its id."""
    view, part, _ = task.split("/", 2)
    return next(test for test, folder in PARTS.items() if folder == part), VIEWS[view.removesuffix("_data")]


def _unitless(table: Table) -> Table:
    """Errors of translation where the truth is not the engine's: the length of its unit is unknown."""
    if "rpe_trans" not in table.metric:
        return table
    return replace(table, unit="1", notes=(*table.notes, _UNITS))


def _test_of(metric: str) -> str:
    return {"lcm": "mem", "asg": "action_space"}.get(metric.partition("/")[0], "mirror")


def _declared(metric: str) -> tuple[str, Better]:
    facts = metrics.entry(metric.rpartition("/")[2]).facts
    return facts["unit"], facts["better"]


PRINTED = (
    "long_context_memory_mse",
    "generated_scene_consistency_mse",
    "action_space_generalization_mse",
    "aesthetic_quality",
    "image_quality",
    "action_rpe_trans",
    "action_rpe_rot_deg",
)
"""Keys of the file in the order of `paper_columns`."""
N_CLIPS = 50
"""Of a perspective's memory test, which all columns are of but two."""
COUNTS = {"generated_scene_consistency_mse": 500, "action_space_generalization_mse": 25}
"""Videos of paths, and clips of other action spaces."""

_CAVEAT = (
    "Which frames were scored is not stated: the release has changed its rule. Consistency is of pairs one action "
    "apart, translation in the units of an estimator."
)


def published() -> list[Table]:
    """Tables 2 and 3, and the memory test on its own with later results.

    They are about other data, so cells are never compared.
    """
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    source = f"{data['source']}. {_CAVEAT}"
    tables = [_memory(data)]
    for view, key, number in (("first person", "table2", 2), ("third person", "table3", 3)):
        tables.append(
            Table(
                metric=PAPER[view],
                title=f"Table {number}, {view}, as published",
                unit="1",
                better="lower",
                columns=tuple(paper_columns().values()),
                rows=tuple(
                    TableRow(
                        _name(row),
                        tuple(Cell(row[name], None, COUNTS.get(name, N_CLIPS)) for name in PRINTED),
                        "published",
                    )
                    for row in data[key]
                ),
                notes=(source,),
                betters=("lower", "lower", "lower", "higher", "higher", "lower", "lower"),
            )
        )
    return tables


def _memory(data: Mapping[str, Any]) -> Table:
    """First column of Tables 2 and 3, then what a later paper reports."""
    ours = [
        TableRow(
            _name(first),
            (Cell(first[PRINTED[0]], None, N_CLIPS), Cell(third[PRINTED[0]], None, N_CLIPS)),
            "published",
        )
        for first, third in zip(data["table2"], data["table3"], strict=True)
    ]
    later = data["third_party"]
    printed = {row["model"] for row in data["table2"]}
    theirs = [
        TableRow(
            f"{row['model']} (later report)",
            tuple(Cell(row[view]["mse"], None, N_CLIPS) for view in ("first_person", "third_person")),
            "published",
        )
        for row in later["rows"]
        if row["model"] not in printed
    ]
    return Table(
        metric=HEADLINE,
        title="Long context memory: mean squared error, as published",
        unit="1",
        better="lower",
        columns=tuple(VIEWS.values()),
        rows=(*ours, *theirs),
        notes=(f"{data['source']}, Tables 2 and 3. {_CAVEAT}", f"Later report: {later['source']}. {later['note']}"),
    )


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['model']}, {'with' if row['context_memory'] else 'without'} context memory"
