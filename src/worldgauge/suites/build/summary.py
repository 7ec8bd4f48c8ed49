"""Tables: full marks by kind of task, the paper's own columns, and what lies behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from worldgauge.agent import BUILDS, KINDS
from worldgauge.agents.critic import DIMENSIONS
from worldgauge.metrics import metrics
from worldgauge.metrics.build_scores import overall
from worldgauge.metrics.choice_reading import chance_percent
from worldgauge.statistics import balanced_interval, mean_std, wilson
from worldgauge.suites.build.published import COLUMNS
from worldgauge.suites.build.scoring import HEADLINE
from worldgauge.suites.build.settings import FailedPlans
from worldgauge.suites.contract import Better, Cell, Failure, Row, Score, Table, mean_of
from worldgauge.suites.tables import cell_of, ordered, resolvable_note

OVERALL = "overall"
RATES = ("build_executable", "build_strict", "reasoning_accuracy", "build_commonsense_success")
"""Scores that are 0 or 100 by nature, and their mean a rate."""
MATCHING = {
    "build_matching": "matching, of 10",
    "build_best_shift": "matching where it fits best",
    "build_precision": "precision",
    "build_f1": "F1",
    "build_typed_iou": "typed IoU",
    "build_occupancy_iou": "occupancy IoU",
}
TIERS = ("easy", "medium", "hard")
VARIANTS = ("same", "different", "judge")
_SEED = 20251201
Kinds = Mapping[str, str]


def summarize(
    scores: Mapping[str, Sequence[Score]],
    kinds: Kinds,
    failed: Mapping[str, Sequence[Failure]],
    failed_plans: FailedPlans = "zero",
) -> list[Table]:
    """All tables, full marks first. kinds, failed: see `Suite.summarize`. failed_plans: as of the suite's settings."""
    entries = [_Entry(name, kinds[name], own, failed.get(name, ())) for name, own in scores.items()]
    asked = [kind for kind in KINDS if any(entry.expected(kind) for entry in entries)]
    if not asked:
        return []
    builds = [kind for kind in BUILDS if kind in asked]
    tables = [_marks(entries, asked), _as_in_paper(entries, asked)]
    tables += [_of_builds(entries, kind, failed_plans) for kind in builds]
    tables += [_matching(entries, kind) for kind in builds if kind != "creativity"]
    tables += [_output(entries, builds)] if builds else []
    tables += [_grades(entries, kind) for kind in builds]
    tables += [_by_tier(entries, kind) for kind in builds]
    tables += [_reasoning(entries)] if "reasoning" in asked else []
    tables += [_commonsense(entries)] if "commonsense" in asked else []
    tables += [_reasons(entries)] if builds else []
    return [*tables, _cost(entries)]


class _Entry:
    """One subject: its scores by name, and the tasks that failed."""

    def __init__(self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure]) -> None:
        self.label = label
        self.kind: Literal["subject", "reference"] = "reference" if kind == "reference" else "subject"
        self.failed = failed
        self._by_metric: dict[str, list[Score]] = {}
        for score in scores:
            self._by_metric.setdefault(score.metric, []).append(score)

    def of(self, metric: str, kind: str | None = None, **group: object) -> list[Score]:
        """Its scores of one metric, of a kind of task, of a group; all where nothing is said."""
        return [
            score
            for score in self._by_metric.get(metric, ())
            if kind in (None, score.group["task"]) and all(score.group.get(key) == one for key, one in group.items())
        ]

    def lost(self, kind: str | None = None) -> int:
        """Tasks of a kind that failed, such as by an outage."""
        return sum(kind in (None, failure.task.partition("/")[0]) for failure in self.failed)

    def expected(self, kind: str) -> int:
        """Tasks of a kind that were asked."""
        return len(self.of(HEADLINE, kind)) + self.lost(kind)

    def flag(self, kinds: Iterable[str]) -> str:
        """Why its row wins nothing: a mean over part of the list is no mean of the list."""
        wanted = list(kinds)
        if missing := [kind for kind in wanted if not self.expected(kind)]:
            return f"not asked {', '.join(missing)}"
        lost = sum(self.lost(kind) for kind in wanted)
        total = sum(self.expected(kind) for kind in wanted)
        if lost:
            return f"{lost} of {total} tasks failed"
        unknown = [kind for kind in wanted if all(score.value is None for score in self.of(HEADLINE, kind))]
        return f"no score of {', '.join(unknown)}" if unknown else ""

    def cell(self, metric: str, kind: str | None = None, **group: object) -> Cell:
        """Mean over tasks; of a rate with Wilson's interval."""
        values = [score.value for score in self.of(metric, kind, **group)]
        expected = len(values) + (0 if group else self.lost(kind))
        cell = cell_of(values, _declared(metric)[2], expected=expected)
        if cell.n and (metric.rpartition("/")[2] in RATES or (metric == HEADLINE and kind == "reasoning")):
            interval = wilson(sum(value == 100.0 for value in values), cell.n)
            assert interval is not None
            return Cell(cell.mean, cell.std, cell.n, 100 * interval.low, 100 * interval.high, expected)
        return cell

    def overall(self, kinds: Sequence[str]) -> Cell:
        """Mean of the kinds' means, each of which counts alike (the paper's overall score)."""
        parts = [[score.value for score in self.of(HEADLINE, kind)] for kind in kinds]
        means = [mean_of(part) for part in parts]
        known = sum(value is not None for part in parts for value in part)
        expected = sum(self.expected(kind) for kind in kinds)
        there = [mean for mean in means if mean is not None]
        if len(there) < len(means):
            return Cell(None, None, known, expected=expected)
        interval = balanced_interval(parts, rng=np.random.default_rng(_SEED))
        low, high = (None, None) if interval is None else np.clip(interval, 0.0, 100.0).tolist()
        spread = mean_std([value for part in parts for value in part]).std
        return Cell(overall(there), spread, known, low, high, expected)


def _marks(entries: Sequence[_Entry], asked: Sequence[str]) -> Table:
    """Full marks by kind, and the overall score where there are several."""
    columns = [*asked, OVERALL] if len(asked) > 1 else list(asked)
    rows = [
        Row(
            entry.label,
            tuple(entry.overall(asked) if column == OVERALL else entry.cell(HEADLINE, column) for column in columns),
            entry.kind,
            entry.flag(asked),
        )
        for entry in entries
    ]
    notes = [
        "Percent of full marks. Overall: the mean of the kinds, which count alike whatever their numbers of tasks"
        + (", as in the paper." if len(asked) == len(KINDS) else "; the paper's has all five kinds."),
        *_chances(entries, asked),
    ]
    if len(entries) > 1:
        values = {entry.label: {score.task: score.value for score in entry.of(HEADLINE)} for entry in entries}
        notes.append(resolvable_note(values, "tasks"))
    title = "Full marks by kind of task"
    return Table(
        HEADLINE, title, "%", "higher", tuple(columns), tuple(ordered(rows, "higher")), tuple(notes), bars=True
    )


def _chances(entries: Sequence[_Entry], asked: Sequence[str]) -> Iterator[str]:
    """What guessing and what knowing everything come to."""
    said = []
    if "reasoning" in asked:
        counts = {s.task: int(s.facts["choices"]) for e in entries for s in e.of(HEADLINE, "reasoning")}
        if counts:
            said.append(f"reasoning {chance_percent(list(counts.values())):.2f} %")
    for kind in asked:
        chances = {s.task: s.facts["chance"] for e in entries for s in e.of(HEADLINE, kind) if "chance" in s.facts}
        known = mean_of(chances.values())
        if known is not None and kind != "creativity":
            said.append(f"{kind} a matching score of {known:.2f} of 10 (an even draw in a matrix of 8 blocks each way)")
    if said:
        yield f"Guessing comes to: {'; '.join(said)}. What a critic grades it with, the row random shows."
    yield "The most that can be had is 100 % in every column; the row truth shows what this critic grades it with."


def _as_in_paper(entries: Sequence[_Entry], asked: Sequence[str]) -> Table:
    """Points of 10, accuracy in percent, the overall score."""
    names: dict[str, str] = {
        **{kind: f"{kind}/build_evaluation" for kind in BUILDS},
        "reasoning": "reasoning/reasoning_accuracy",
        "commonsense": "commonsense/build_commonsense",
    }
    kinds = [kind for kind in COLUMNS if kind in asked]
    rows = [
        Row(
            entry.label,
            (*(entry.cell(names[kind], kind) for kind in kinds), entry.overall(asked)),
            entry.kind,
            entry.flag(asked),
        )
        for entry in entries
    ]
    columns = (*(COLUMNS[kind] for kind in kinds), COLUMNS[OVERALL])
    notes = () if len(asked) == len(KINDS) else ("Overall: of the kinds that were asked.",)
    return Table(
        HEADLINE,
        "The paper's columns: evaluation scores, accuracy, overall",
        "points",
        "higher",
        columns,
        tuple(ordered(rows, "higher")),
        notes,
        betters=tuple("higher" for _ in columns),
    )


def _of_builds(entries: Sequence[_Entry], kind: str, failed_plans: FailedPlans) -> Table:
    """Both means of the critic's grades, what is built at all, and what comes on top."""
    names = {
        f"{kind}/build_evaluation": "evaluation",
        f"{kind}/build_graded": "evaluation, built only",
        f"{kind}/build_executable": "can be built, %",
        f"{kind}/build_strict": "and without repair, %",
        **({} if kind == "creativity" else {f"{kind}/build_comprehensive": "comprehensive"}),
    }
    counted = "counts as 0, as in the paper" if failed_plans == "zero" else "is left out, as in the paper's code"
    notes = [f"Points of 10. In the evaluation score what cannot be built {counted}."]
    if kind == "creativity":
        notes.append("The comprehensive score of creativity needs votes: worldgauge vote.")
    return _table(entries, kind, f"{kind.capitalize()}: both means", names, notes)


def _matching(entries: Sequence[_Entry], kind: str) -> Table:
    names = {f"{kind}/{metric}": title for metric, title in MATCHING.items()}
    note = (
        "Matching is a recall: a solid box of the commonest block may get full marks, so read precision and F1 beside "
        "it. Blocks are compared by name, without states."
    )
    return _table(entries, kind, f"{kind.capitalize()}: the true build, block by block", names, (note,))


def _output(entries: Sequence[_Entry], builds: Sequence[str]) -> Table:
    rows = [
        Row(
            entry.label,
            tuple(entry.cell(f"{kind}/build_executable", kind) for kind in builds),
            entry.kind,
            entry.flag(builds),
        )
        for entry in entries
    ]
    return Table(
        "build_executable",
        "Output success rate: answers that can be built",
        "%",
        "higher",
        tuple(builds),
        tuple(ordered(rows, "higher", 0)),
        ("Whether an answer can be built says nothing about what: any matrix of known numbers can.",),
    )


def _grades(entries: Sequence[_Entry], kind: str) -> Table:
    names = {f"{kind}/{name}/build_grade": name for name in DIMENSIONS[kind]}
    return _table(entries, kind, f"{kind.capitalize()}: grades by dimension", names, ("Of what was built, 1 to 10.",))


def _by_tier(entries: Sequence[_Entry], kind: str) -> Table:
    rows = [
        Row(
            entry.label,
            tuple(entry.cell(HEADLINE, kind, tier=tier) for tier in TIERS),
            entry.kind,
            entry.flag([kind]),
        )
        for entry in entries
        if entry.expected(kind)
    ]
    title = f"{kind.capitalize()}: full marks by difficulty"
    return Table(f"{kind}/by_tier", title, "%", "higher", TIERS, tuple(ordered(rows, "higher", 0)))


def _reasoning(entries: Sequence[_Entry]) -> Table:
    """Accuracy by kind of question, what guessing comes to, and what was answered."""
    metric = "reasoning/reasoning_accuracy"
    own = [entry for entry in entries if entry.expected("reasoning")]
    rows = [
        Row(
            entry.label,
            (
                entry.cell(metric, "reasoning"),
                *(entry.cell(metric, "reasoning", variant=variant) for variant in VARIANTS),
            ),
            entry.kind,
            entry.flag(["reasoning"]),
        )
        for entry in own
    ]
    counts = {s.task: int(s.facts["choices"]) for entry in own for s in entry.of(metric)}
    chance = f"Guessing: {chance_percent(list(counts.values())):.2f} % of all, " if counts else "Guessing: "
    notes = [f"{chance}25 % of the same and the different, 50 % of the judged. Unreadable answers are wrong."]
    for entry in own:
        read = Counter(str(score.facts["read"] or "unreadable") for score in entry.of(metric))
        notes.append(f"{entry.label} answered " + ", ".join(f"{name} {read[name]}" for name in sorted(read)) + ".")
    return Table(
        metric,
        "Reasoning: accuracy by kind of question",
        "%",
        "higher",
        ("all", *VARIANTS),
        tuple(ordered(rows, "higher", 0)),
        tuple(notes),
    )


def _commonsense(entries: Sequence[_Entry]) -> Table:
    names = {
        "commonsense/build_commonsense": "mark, of 10",
        "commonsense/build_commonsense_success": "marks of 7 and more, %",
    }
    return _table(entries, "commonsense", "Commonsense: marks of answers in words", names, ())


def _table(entries: Sequence[_Entry], kind: str, title: str, names: Mapping[str, str], notes: Sequence[str]) -> Table:
    """One kind of task, a column a metric."""
    rows = [
        Row(entry.label, tuple(entry.cell(metric, kind) for metric in names), entry.kind, entry.flag([kind]))
        for entry in entries
        if entry.expected(kind)
    ]
    first = next(iter(names))
    return Table(
        first,
        title,
        _declared(first)[0],
        "higher",
        tuple(names.values()),
        tuple(ordered(rows, "higher", 0)),
        tuple(notes),
        betters=tuple(_declared(metric)[1] for metric in names),
    )


def _reasons(entries: Sequence[_Entry]) -> Table:
    """What became of the answers that should be builds."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        own = [score for kind in BUILDS for score in entry.of(f"{kind}/build_executable")]
        counts[entry.label] = Counter(str(score.facts["reason"] or "built").replace("_", " ") for score in own)
        counts[entry.label] += Counter({"failed": sum(entry.lost(kind) for kind in BUILDS)})
    columns = sorted({end for own in counts.values() for end in own}, key=lambda end: (end == "failed", end != "built"))
    rows = [
        Row(
            entry.label,
            tuple(Cell(float(counts[entry.label][end]), None, counts[entry.label].total()) for end in columns),
            entry.kind,
        )
        for entry in entries
    ]
    return Table("reading", "What became of the plans", "tasks", "neither", tuple(columns), tuple(rows))


def _cost(entries: Sequence[_Entry]) -> Table:
    """What an answer took, where agents say it."""
    names = {"input_tokens": "tokens in", "output_tokens": "tokens out", "cost": "cost"}
    rows = []
    for entry in entries:
        own = entry.of(HEADLINE)
        cells = [
            cell_of([score.facts.get(name) for score in own], (0.0, np.inf), len(own) + entry.lost()) for name in names
        ]
        placed = [
            score.facts["output_tokens"] / score.facts["blocks"]
            for score in own
            if score.facts.get("output_tokens") and score.facts.get("blocks")
        ]
        cells.append(cell_of(placed, (0.0, np.inf)))
        rows.append(Row(entry.label, tuple(cells), entry.kind))
    columns = (*names.values(), "tokens out a block placed")
    return Table(
        "cost",
        "What an answer took",
        "1",
        "neither",
        columns,
        tuple(rows),
        betters=tuple("neither" for _ in columns),
    )


def _declared(metric: str) -> tuple[str, Better, tuple[float, float]]:
    facts = metrics.entry(metric.rpartition("/")[2]).facts
    low, high = facts["bounds"]
    return facts["unit"], facts["better"], (low, high)
