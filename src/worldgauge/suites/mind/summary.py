"""Tables: means over clips, first and third person apart; the paper's columns, by path, by action, with baselines.

The paper's own tables stand beside them, and later results on its memory test, labelled as such.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from worldgauge.engine.suite import drift, returned
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.scores import (
    by_metric,
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    make_cell,
    metric_facts,
    missing_notes,
    row_kind,
    score_cell,
    sort_rows,
)
from worldgauge.metrics._registry import metric_bounds
from worldgauge.suites.mind.actions import TWIN_KEYS
from worldgauge.suites.mind.metrics.scene_consistency import MOTION_SHARE, moves
from worldgauge.suites.mind.settings import TWINS, MindSettings
from worldgauge.suites.mind.tasks import VIEWS, test_of

HEADLINE = "lcm/mse_720p"
TWIN_ACCURACY, TWIN_AHEAD = "twins/twin_accuracy", "twins/twin_ahead"
BOTH = "both"
PAPER = {"first person": "mind/first", "third person": "mind/third"}
"""Perspective -> name of the table that has the columns of the paper's."""
STILL, UNJUDGED, POSED = "does not move", "motion not judged", "given poses"
SHORT, LONGER, AHEAD = "of the frames", "longer than asked for", "looks ahead"
_UNITS = "Translation errors are in units of the true poses, which are not the engine's here."

TOLD_BY = {"mem": HEADLINE, "action_space": "asg/mse_720p", "mirror": "out_leg_motion", TWINS: TWIN_ACCURACY}
"""Test -> the scores whose facts say what its videos are: how much they move, how long and how fast they are."""


_COLOURS = {name: title[0].lower() + title[1:] for name, title in drift.TITLES.items()}
_CAMERA = {
    "rpe_trans": "translation error per frame",
    "rpe_rot_deg": "rotation error per frame",
    "move_cosine": "cosine of the directions of motion",
    "turn_cosine": "cosine of the directions of turning",
    "key_latency": "delay of the response to a change of keys",
    "keys_answered": "share of changes of keys with a response",
}
_QUALITY = {"dino_mse": "DINO feature distance", "aesthetic": "Aesthetic quality", "imaging": "Imaging quality"}
TITLES = {
    HEADLINE: "Long context memory: mean squared error",
    "lcm/psnr_720p": "Long context memory: PSNR",
    "lcm/ssim_720p": "Long context memory: SSIM",
    "lcm/detail": "Long context memory: detail, at the model's own size",
    "lcm/lpips_720p": "Long context memory: LPIPS",
    **{f"lcm/{name}": title for name, title in returned.TITLES.items()},
    **{f"lcm/{name}": f"Long context memory: {title}" for name, title in _COLOURS.items()},
    "gsc_aligned_mse": "Generated scene consistency, states paired exactly: mean squared error",
    "gsc_aligned_detail": "Generated scene consistency, states paired exactly: detail, at the model's own size",
    "gsc_mse": "Generated scene consistency as released, one action apart: mean squared error",
    "asg/mse_720p": "Action space generalisation: mean squared error",
    "asg/detail": "Action space generalisation: detail, at the model's own size",
    **{f"lcm/{name}": f"Action accuracy, memory test: {title}" for name, title in _CAMERA.items()},
    **{f"asg/{name}": f"Action accuracy, other action spaces: {title}" for name, title in _CAMERA.items()},
    **{f"lcm/{name}": f"{title}, memory test" for name, title in _QUALITY.items()},
    "gsc_aligned_psnr": "Generated scene consistency, states paired exactly: PSNR",
    "gsc_aligned_ssim": "Generated scene consistency, states paired exactly: SSIM",
    "gsc_aligned_lpips": "Generated scene consistency, states paired exactly: LPIPS",
    "gsc_lpips": "Generated scene consistency as released: LPIPS",
    "asg/psnr_720p": "Action space generalisation: PSNR",
    "asg/ssim_720p": "Action space generalisation: SSIM",
    "asg/lpips_720p": "Action space generalisation: LPIPS",
    **{f"asg/{name}": f"{title}, other action spaces" for name, title in _QUALITY.items()},
    "out_leg_motion": "Motion between the start image and the turn",
    TWIN_ACCURACY: "Twins: share of frames that show the own key",
    "twins/twin_gain": "Twins: share of the true difference that is shown",
    TWIN_AHEAD: "Twins: difference before the keys differ",
}
"""Title of the table by perspective of each metric, headline first."""
OVER_TIME = (
    *("lcm/mse_720p", "lcm/ssim_720p", "lcm/detail", "lcm/lpips_720p"),
    *(f"lcm/{name}" for name in _COLOURS),
    *("lcm/move_cosine", "lcm/turn_cosine"),
)
"""Scores that also have a table by time after the context."""


def summarize(
    scores: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    settings: MindSettings,
) -> list[Table]:
    """All tables, long context memory first."""
    entries = [_ModelScores(name, kinds[name], own, failed.get(name, ())) for name, own in scores.items()]
    seen = {_place(task)[:2] for e in entries for task in (*(s.task for s in e.scores), *(f.task for f in e.failed))}
    views = [view for view in VIEWS.values() if any(test != TWINS and where == view for test, where in seen)]
    sides = [view for view in VIEWS.values() if (TWINS, view) in seen]
    columns = {TWINS: [*TWIN_KEYS, *(sides if len(sides) > 1 else ())]}
    tables = {
        metric: _by_view(metric, entries, columns.get(_test_of(metric), views))
        for metric in TITLES
        if any(entry.of(metric) for entry in entries)
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
    if settings.truth_poses == "engine":
        return found
    # The length of the unit of other truths is unknown.
    return [
        replace(table, unit="1", notes=(*table.notes, _UNITS)) if "rpe_trans" in table.metric else table
        for table in found
    ]


class _ModelScores:
    """One model: its scores by metric, its failures, and why it must not be taken at its face."""

    def __init__(self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure]) -> None:
        self.label = label
        self.kind = row_kind(kind)
        self.scores = scores
        self.failed = failed
        self._by_metric = by_metric(scores)

    def of(self, metric: str, view: str | None = None) -> Sequence[Score]:
        """Its scores of a perspective or of a pair of keys, of all for None."""
        scores = self._by_metric.get(metric, ())
        return [s for s in scores if view in (None, s.group["perspective"], s.group.get("keys"))]

    def cell(self, metric: str, view: str | None = None) -> Cell:
        """Mean over the clips of a perspective, of both for None; failed ones are expected."""
        scores = self.of(metric, view)
        return score_cell(scores, metric_bounds(metric), len(scores) + len(self.failures(metric, view)))

    def failures(self, metric: str, view: str | None = None) -> Sequence[Failure]:
        """Of the test that a score is of; known by the task's id, since a damaged record has no group."""
        places = [(f, _place(f.task)) for f in self.failed]
        return [f for f, (test, *where) in places if test == _test_of(metric) and view in (None, *where)]

    def flag(self, metric: str, view: str | None = None) -> str:
        """Why a row must not be taken at its face, in a few words: of the videos of the test that `metric` is of."""
        videos = [s.facts for s in self.of(TOLD_BY[_test_of(metric)], view)]
        reasons = []
        judged = [
            moves(facts["motion"], facts["real_motion"])
            for facts in videos
            if facts.get("motion") is not None and facts["real_motion"]
        ]
        if judged and sum(judged) * 2 <= len(judged):
            reasons.append(STILL)
        if not judged and any(facts.get("motion") is not None for facts in videos):
            reasons.append(UNJUDGED)
        asked = sum(facts["frames_asked"] for facts in videos)
        scored = sum(facts["frames_scored"] for facts in videos)
        if scored < asked:
            reasons.append(f"{scored / asked:.0%} {SHORT}")
        if any(facts.get("is_longer") for facts in videos):
            reasons.append(LONGER)
        # Frames are compared one by one with the recording's, whatever their rate.
        rates = {facts["fps"] for facts in videos if abs(facts["fps"] - facts["recorded_fps"]) > 0.01}
        reasons += [f"{rate:g} frames/s" for rate in sorted(rates)]
        return ", ".join(reasons)

    def row(self, cells: tuple[Cell, ...], metric: str, view: str | None = None) -> TableRow:
        """A row with the flag of the videos of the test that `metric` is of."""
        return self.flagged_row(cells, self.flag(metric, view))

    def flagged_row(self, cells: tuple[Cell, ...], flag: str) -> TableRow:
        """A row; models that got camera poses, and not keys alone, are ranked among themselves."""
        ahead = (self.cell(TWIN_AHEAD).mean or 0.0) > _VISIBLE
        posed = any(s.facts.get("posed", s.facts.get("control") == "camera") for s in self.scores)
        group = POSED if posed and self.kind == "model" else ""
        return TableRow(self.label, cells, self.kind, flag, (AHEAD,) if ahead else (), group)


def _by_view(metric: str, entries: Sequence[_ModelScores], views: Sequence[str]) -> Table:
    columns: list[str | None] = [*views, None] if len(views) > 1 else list(views)
    rows = [
        entry.row(tuple(entry.cell(metric, view) for view in columns), metric)
        for entry in entries
        if entry.of(metric) or entry.failures(metric)
    ]
    if metric.endswith(("rpe_trans", "rpe_rot_deg")):
        rows += _frozen_rows(metric, entries, columns)
    unit, better, _ = metric_facts(metric)
    rest = "all" if _test_of(metric) == TWINS else BOTH
    names, notes = tuple(view or rest for view in columns), tuple(_notes(metric, entries))
    return Table(metric, TITLES[metric], unit, better, names, tuple(sort_rows(rows, better)), notes)


def _as_in_paper(view: str, entries: Sequence[_ModelScores], settings: MindSettings) -> Table:
    """One row a model, the columns of the paper's Table 2 or 3."""
    columns = paper_columns(settings)
    rows = []
    for entry in entries:
        cells = tuple(entry.cell(metric, view) for metric in columns)
        if any(cell.expected for cell in cells):
            flags = dict.fromkeys(flag for metric in columns for flag in [entry.flag(metric, view)] if flag)
            rows.append(entry.flagged_row(cells, "; ".join(flags)))
    betters = tuple(metric_facts(metric)[1] for metric in columns)
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


def paper_columns(settings: MindSettings | None = None) -> dict[str, str]:
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


def _finer(metric: str, entries: Sequence[_ModelScores], views: Sequence[str]) -> Iterator[Table]:
    """What stands behind a table, by perspective: by path, by action space, by action."""
    grouped = {
        "gsc_aligned_mse": ("path", "Consistency by path, states paired exactly"),
        "asg/mse_720p": ("space", "Action space generalisation by space"),
    }
    if metric in grouped:
        for view in views:
            yield from _by_group(metric, *grouped[metric], entries, view)
    elif metric == "lcm/rpe_rot_deg":
        for name, what in (("trans_mean", "translation"), ("rot_deg_mean", "rotation")):
            source = "lcm/rpe_trans" if name == "trans_mean" else metric
            for key, by in (("groups", "group"), ("actions", "action")):
                title = f"Action accuracy by {by}: {what} error per frame"
                for view in views:
                    yield from _by_fact(source, key, name, title, entries, view)
        for view in views:
            yield from _yardsticks(entries, view)


def _by_group(metric: str, key: str, title: str, entries: Sequence[_ModelScores], view: str) -> Iterator[Table]:
    groups = [score.group for e in entries for score in e.of(metric, view)]
    groups += [failure.group for e in entries for failure in e.failures(metric, view)]
    names = list(dict.fromkeys(str(group[key]) for group in groups if key in group))
    rows = []
    for entry in entries:
        cells = []
        for name in names:
            scores = [s for s in entry.of(metric, view) if str(s.group.get(key)) == name]
            lost = sum(str(f.group.get(key)) == name for f in entry.failures(metric, view))
            cells.append(score_cell(scores, metric_bounds(metric), len(scores) + lost))
        if any(cell.expected for cell in cells):
            rows.append(entry.row(tuple(cells), metric, view))
    if rows:
        unit, better, _ = metric_facts(metric)
        ordered_rows = tuple(sort_rows(rows, better, 0))
        yield Table(f"{metric}/{key}/{view}", f"{title}, {view}", unit, better, tuple(names), ordered_rows)


def _by_fact(
    metric: str, key: str, name: str, title: str, entries: Sequence[_ModelScores], view: str
) -> Iterator[Table]:
    """Means over clips of what each clip says of its groups or actions; nothing where none says anything."""
    counts: Counter[str] = Counter()
    for facts in [s.facts.get(key, {}) for e in entries for s in e.of(metric, view)]:
        counts.update({label: int(stats["count"]) for label, stats in facts.items()})
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
            rows.append(entry.row(cells, metric, view))
    unit, better, _ = metric_facts(metric)
    yield Table(
        f"{metric}/{key}/{view}",
        f"{title}, {view}",
        unit,
        better,
        tuple(labels),
        tuple(sort_rows(rows, better, 0)),
        ("Most frequent first; n is the number of clips in which it occurs.",),
        bars=key == "actions",
    )


def _yardsticks(entries: Sequence[_ModelScores], view: str) -> Iterator[Table]:
    """What an error of action accuracy is to be compared with."""
    metric = "lcm/rpe_trans"
    fields = {
        "scale": "scale of the alignment",
        "truth_step_m": "ground-truth step",
        "frozen_trans_m": "error of a still camera",
        "frozen_rot_deg": "its error in turning (deg)",
    }
    rows = []
    for entry in entries:
        own = entry.of(metric, view)
        if own:
            cells = tuple(_fact_cell([(score, score.facts.get(name)) for score in own]) for name in fields)
            rows.append(entry.row(cells, metric, view))
    if rows:
        yield Table(
            f"{metric}/yardsticks/{view}",
            f"Yardsticks of action accuracy, {view}",
            "1",
            "neither",
            tuple(fields.values()),
            tuple(rows),
            (
                "The alignment fits only a scale. For motion unrelated to the ground truth it goes to 0, and the "
                "translation error to that of a camera that does not move.",
            ),
            betters=tuple("neither" for _ in fields),
        )


def _frozen_rows(metric: str, entries: Sequence[_ModelScores], columns: Sequence[str | None]) -> list[TableRow]:
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
    return [TableRow("a still camera", cells, "baseline", STILL)] if by_task else []


def _fact_cell(values: Sequence[tuple[Score, float | None]]) -> Cell:
    """Mean of something that scores hold beside their value."""
    return make_cell([value for _, value in values], (0.0, np.inf), clusters=[cluster_of_score(s) for s, _ in values])


def _notes(metric: str, entries: Sequence[_ModelScores]) -> Iterator[str]:
    scores = [score for entry in entries for score in entry.of(metric)]
    if metric in _READING:
        yield _READING[metric]
    if len({score.facts.get("horizon") for score in scores}) > 1:
        yield "Rows have different horizons and must not be compared."
    yield from missing_notes(scores)
    flags = [entry.flag(metric) for entry in entries]
    if any(SHORT in flag for flag in flags):
        yield f"'% {SHORT}': share of the requested frames in the scored clips. The rest is missing."
    if any(LONGER in flag for flag in flags):
        yield f"{LONGER!r}: only the beginning of its videos was scored, from frame mark_time."
    if any(STILL in flag for flag in flags):
        yield f"{STILL!r}: less than {MOTION_SHARE:.0%} of the motion of real clips in at least half of the videos."
    if len(entries) > 1:
        clusters = clusters_by_task({e.label: e.of(metric) for e in entries})
        values = {e.label: {s.task: s.value for s in e.of(metric)} for e in entries}
        yield detectable_note(values, {e.label: e.kind for e in entries}, "clips", clusters, metric_bounds(metric))


_VISIBLE = 1.0
"""Squared grey levels before the keys differ; a video codec that reads ahead leaves 0.2."""
_READING = {
    TWIN_ACCURACY: "1: the ground truth. 0.5: a model that ignores its keys. 0: one that exchanges them.",
    "twins/twin_gain": "1: the ground truth. 0: a model that ignores its keys. Blur and half speed lower it.",
    TWIN_AHEAD: f"0: a causal model. Above {_VISIBLE:g}, a row is marked {AHEAD!r}: later keys change earlier frames.",
}
"""How the numbers of twins are read."""


def _place(task: str) -> tuple[str, str, str]:
    """Test, perspective and pair of keys of a task, by its id; no pair for tasks that are no twins."""
    view, part, name = task.split("/", 2)
    keys = name.partition("/twin-")[2]
    return TWINS if keys else test_of(part), VIEWS[view.removesuffix("_data")], keys


def _test_of(metric: str) -> str:
    return {"lcm": "mem", "asg": "action_space", "twins": TWINS}.get(metric.partition("/")[0], "mirror")


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
    """Tables 2 and 3, and the memory test with later results; other data, so cells are never compared."""
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
                    _printed_row(_name(row), {row_key: row[row_key] for row_key in PRINTED}) for row in data[key]
                ),
                notes=(source,),
                betters=("lower", "lower", "lower", "higher", "higher", "lower", "lower"),
            )
        )
    return tables


def _memory(data: Mapping[str, Any]) -> Table:
    """First column of Tables 2 and 3, then what a later paper reports."""
    ours = [
        _printed_row(_name(first), {"first": first[PRINTED[0]], "third": third[PRINTED[0]]})
        for first, third in zip(data["table2"], data["table3"], strict=True)
    ]
    later = data["third_party"]
    printed = {row["model"] for row in data["table2"]}
    theirs = [
        _printed_row(
            f"{row['model']} (later report)", {view: row[view]["mse"] for view in ("first_person", "third_person")}
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


def _printed_row(label: str, values: Mapping[str, float | None]) -> TableRow:
    cells = tuple(Cell(value, None, COUNTS.get(name, N_CLIPS)) for name, value in values.items())
    return TableRow(label, cells, "published")


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['model']}, {'with' if row['context_memory'] else 'without'} context memory"
