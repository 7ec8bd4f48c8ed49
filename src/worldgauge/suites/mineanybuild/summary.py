"""Tables: full marks by kind of task, the paper's own columns, and what lies behind them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from worldgauge.core.intervals import balanced_interval, correlation, mean_std
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow, mean_of_known
from worldgauge.engine.suite.scores import (
    ModelScores,
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    make_cell,
    metric_facts,
    sort_rows,
)
from worldgauge.suites.mineanybuild.critics import DIMENSIONS
from worldgauge.suites.mineanybuild.format import BUILD_KINDS, KINDS, PUBLISHED, Kind
from worldgauge.suites.mineanybuild.metrics.scores import overall
from worldgauge.suites.mineanybuild.scoring import FREE, HEADLINE, SOUND, critic_tokens
from worldgauge.suites.mineanybuild.settings import FailedPlans

RATES = ("build_executable", "build_strict", "reasoning_accuracy", "build_commonsense_success")
"""Scores that are 0 or 100, so that their mean is a rate."""


class BuildScores(ModelScores):
    """One model, its overall score, and why its row may win nothing."""

    def is_rate(self, metric: str, task: str | None) -> bool:
        """See `ModelScores`."""
        return metric.rpartition("/")[2] in RATES or (metric == HEADLINE and task == "reasoning")

    def flag(self, kinds: Iterable[str]) -> str:
        """Return why its row wins nothing: nothing scored one of its kinds."""
        scores = {kind: self.of(HEADLINE, kind) for kind in kinds}
        unknown = [kind for kind, own in scores.items() if own and all(score.value is None for score in own)]
        if not unknown:
            return ""
        why = next((score.reason for score in self.of(HEADLINE, unknown[0]) if score.reason), "")
        return f"no score of {', '.join(unknown)}: {why[:80]}"

    def overall(self, kinds: Sequence[str]) -> Cell:
        """Return the mean of the kinds' means, equally weighted (the paper's overall score)."""
        # In the order of the report's own comparison, so that one page shows one interval.
        scores = [sorted(self.of(HEADLINE, kind), key=lambda one: one.task) for kind in sorted(kinds)]
        parts = [[score.value for score in own] for own in scores]
        means = [mean_of_known(part) for part in parts]
        known = sum(value is not None for part in parts for value in part)
        clusters = [[cluster_of_score(score) for score in own] for own in scores]
        count = len({cluster_of_score(score) for own in scores for score in own if score.value is not None})
        expected = sum(self.expected(kind) for kind in kinds)
        there = [mean for mean in means if mean is not None]
        if len(there) < len(means):
            return Cell(None, None, known, expected=expected, clusters=count)
        interval = balanced_interval(parts, clusters)
        low, high = (None, None) if interval is None else np.clip(interval, 0.0, 100.0).tolist()
        spread = mean_std([value for part in parts for value in part]).std
        method = "" if interval is None else "hall"
        return Cell(overall(there), spread, known, low, high, expected, count, method)


_BY_RULES = (
    "Creativity makes no claim: the rule-based critic does not see the brief. It was fitted to 102 builds that people "
    "made and to ours. 60 builds of other people get 80 of 100 in the median, ours 88."
)
POINTS = "task/points"
"""Name of the table in the paper's own columns, of ours and of the published one."""
COLUMNS = {
    "planning": "planning",
    "understanding": "understanding",
    "reasoning": "reasoning, %",
    "creativity": "creativity",
    "commonsense": "commonsense",
    "overall": "overall, of 100",
}
"""Columns of the paper's Table 1; points of 10 where nothing else is said."""
_KEYS: dict[str, Kind] = {
    "espg": "planning",
    "su": "understanding",
    "sr_acc": "reasoning",
    "creativity": "creativity",
    "sc": "commonsense",
}
_OTHERS = (
    "Graded by GPT-4.1 from recordings of the game, on other builds: not comparable cell by cell with grades of other "
    "critics or pictures.",
)
_REASONING = (
    "Guessing the published questions comes to 29.17 %; every accuracy printed is below. Its code writes the label "
    '"Ture" for all true statements: with that, guessing comes to 25.0 % and nobody passes 91.67 %.'
)


_CUT = (
    "Answers of some open models were cut at 1,024 or 2,048 tokens, which hold no larger matrix. "
    'The "average" of 93.40 in the text is the mean of the 21 cells of proprietary models.'
)


def published() -> list[Table]:
    """Tables 1 and 8 together, 6 and 7 of the paper: without intervals, it has none."""
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    one, six, seven, eight = (data[f"table{number}"]["rows"] for number in (1, 6, 7, 8))
    source = (data["_source"].partition(".")[0] + ".", *_OTHERS)
    # Tasks that a printed mean is of, as Table 4 counts them.
    counts = {key: PUBLISHED[kind] for key, kind in _KEYS.items()} | {"overall": sum(PUBLISHED.values())}

    def table(metric: str, title: str, unit: str, rows: list[Any], columns: Mapping[str, str], *notes: str) -> Table:
        cells = {row["model"]: tuple(Cell(row[key], None, counts[key]) for key in columns) for row in rows}
        made = tuple(TableRow(model, own, "published") for model, own in cells.items())
        names = tuple(columns.values())
        title = f"{title}, as published"
        return Table(metric, title, unit, "higher", names, made, notes, betters=tuple("higher" for _ in names))

    whole = dict(zip([*_KEYS, "overall"], COLUMNS.values(), strict=True))
    kinds = {key: _KEYS[key] for key in ("su", "espg", "creativity")}
    reasoning = "reasoning/reasoning_accuracy"
    return [
        table(POINTS, "Tables 1 and 8", "points", [*one, *eight], whole, *source),
        table("build_executable", "Table 6, output success rate", "%", six, kinds, _CUT),
        table(reasoning, "Table 7, more models on reasoning", "%", seven, {"sr_acc": "reasoning, %"}, _REASONING),
    ]


OVERALL = "overall"
MATCHING = {
    "build_matching": "matching, of 10",
    "build_best_shift": "matching where it fits best",
    "build_precision": "precision",
    "build_f1": "F1",
    "build_typed_iou": "typed IoU",
    "build_occupancy_iou": "occupancy IoU",
}
GRADED = (*(f"{kind}/build_evaluation" for kind in BUILD_KINDS), "commonsense/build_commonsense")
"""Scores that hold what a critic was asked."""
TIERS = ("easy", "medium", "hard")
DETAIL = ("detailed", "simple")
VARIANTS = ("same", "different", "judge")
Kinds = Mapping[str, str]


def summarize(
    scores: Mapping[str, Sequence[Score]],
    kinds: Kinds,
    failed: Mapping[str, Sequence[Failure]],
    failed_plans: FailedPlans = "zero",
    critic: str = FREE,
) -> list[Table]:
    """Return all tables, full marks first."""
    entries = [
        BuildScores(name, kinds[name], own, failed.get(name, ()), headline=HEADLINE) for name, own in scores.items()
    ]
    asked = [kind for kind in KINDS if any(entry.expected(kind) for entry in entries)]
    if not asked:
        return []
    builds = [kind for kind in BUILD_KINDS if kind in asked]
    tables = [_marks(entries, asked, critic), _as_in_paper(entries, asked)]
    tables += [_of_builds(entries, kind, failed_plans) for kind in builds]
    tables += [_matching(entries, kind) for kind in builds if kind != "creativity"]
    tables += [_output(entries, builds)] if builds else []
    tables += [_grades(entries, kind) for kind in builds]
    tables += [_soundness(entries)] if builds else []
    tables += [_by_group(entries, kind, "tier", TIERS, "difficulty") for kind in builds]
    tables += [_by_group(entries, "planning", "variant", DETAIL, "instruction")] if "planning" in builds else []
    tables += [
        _by_round(entries, kind)
        for kind in builds
        if any("rounds" in one.facts for e in entries for one in e.of(HEADLINE, kind))
    ]
    tables += [_reasoning(entries)] if "reasoning" in asked else []
    tables += [_commonsense(entries)] if "commonsense" in asked else []
    tables += [_reasons(entries)] if builds else []
    return [*tables, _cost(entries)]


def _rows(
    entries: Iterable[BuildScores], kinds: Sequence[str], cells: Callable[[BuildScores], Iterable[Cell]], *by: int
) -> tuple[TableRow, ...]:
    """A row per model, the best first by the column `by`; kinds: those that must be there to win."""
    rows = [TableRow(entry.label, tuple(cells(entry)), entry.kind, entry.flag(kinds)) for entry in entries]
    return tuple(sort_rows(rows, "higher", *by))


def _marks(entries: Sequence[BuildScores], asked: Sequence[str], critic: str) -> Table:
    """Full marks by kind, and the overall score where there are several."""
    columns = [*asked, OVERALL] if len(asked) > 1 else list(asked)

    def cells(entry: BuildScores) -> Iterator[Cell]:
        return (entry.overall(asked) if name == OVERALL else entry.cell(HEADLINE, name) for name in columns)

    notes = [
        "Percent of full marks. Overall: the mean of the kinds, which count alike whatever their numbers of tasks"
        + (", as in the paper." if len(asked) == len(KINDS) else "; the paper's has all five kinds."),
        *((_BY_RULES,) if critic == FREE and "creativity" in asked else ()),
        *_chances(entries, asked),
    ]
    if len(entries) > 1:
        values = {entry.label: {score.task: score.value for score in entry.of(HEADLINE)} for entry in entries}
        clusters = clusters_by_task({entry.label: entry.of(HEADLINE) for entry in entries})
        kinds = {entry.label: entry.kind for entry in entries}
        notes.append(detectable_note(values, kinds, "tasks", clusters, (0.0, 100.0)))
    title = "Full marks by kind of task"
    return Table(HEADLINE, title, "%", "higher", tuple(columns), _rows(entries, asked, cells), tuple(notes), bars=True)


def _chances(entries: Sequence[BuildScores], asked: Sequence[str]) -> Iterator[str]:
    """What guessing and what knowing everything come to, in the columns' unit, and of the matching score."""
    for name, said in (("chance", "Guessing comes to"), ("ceiling", "The right answers get")):
        means = {kind: _told(entries, kind, name) for kind in asked}
        known = {kind: mean for kind, mean in means.items() if mean is not None}
        if not known:
            continue
        words = [f"{kind} {mean:.2f}" for kind, mean in known.items()]
        if len(known) == len(asked) > 1:
            words.append(f"{OVERALL} {overall(list(known.values())):.2f}")
        missing = [kind for kind in asked if kind not in known]
        unknown = f" ({', '.join(missing)}: only by asking the critic)" if missing else ""
        yield f"{said}: {', '.join(words)}{unknown}."
    matched = {kind: _told(entries, kind, "random_matching") for kind in asked if kind in ("planning", "understanding")}
    known = {kind: mean for kind, mean in matched.items() if mean is not None}
    if known:
        yield (
            "Guessing samples evenly from the blocks in an 8 x 8 x 8 matrix, the choices, or yes and no. Such a "
            f"sample matches, of 10: {', '.join(f'{kind} {mean:.2f}' for kind, mean in known.items())}."
        )


def _told(entries: Sequence[BuildScores], kind: str, name: str) -> float | None:
    """Mean over tasks of a fact that does not depend on who was asked."""
    facts = {s.task: s.facts[name] for entry in entries for s in entry.of(HEADLINE, kind) if name in s.facts}
    return mean_of_known(facts.values())


def _as_in_paper(entries: Sequence[BuildScores], asked: Sequence[str]) -> Table:
    """Points of 10, accuracy in percent, the overall score."""
    names: dict[str, str] = {
        **{kind: f"{kind}/build_evaluation" for kind in BUILD_KINDS},
        "reasoning": "reasoning/reasoning_accuracy",
        "commonsense": "commonsense/build_commonsense",
    }
    kinds = [kind for kind in COLUMNS if kind in asked]
    rows = _rows(
        entries, asked, lambda entry: (*(entry.cell(names[kind], kind) for kind in kinds), entry.overall(asked))
    )
    columns = (*(COLUMNS[kind] for kind in kinds), COLUMNS[OVERALL])
    notes = () if len(asked) == len(KINDS) else ("Overall: mean of the kinds in this run.",)
    title = "The paper's columns: evaluation scores, accuracy, overall"
    return Table(POINTS, title, "points", "higher", columns, rows, notes, betters=tuple("higher" for _ in columns))


def _of_builds(entries: Sequence[BuildScores], kind: str, failed_plans: FailedPlans) -> Table:
    """Both means of the critic's grades, what is built at all, and what comes on top."""
    names = {
        f"{kind}/build_evaluation": "evaluation",
        f"{kind}/build_graded": "evaluation, built only",
        f"{kind}/build_executable": "can be built, %",
        f"{kind}/build_strict": "and without repair, %",
        **({} if kind == "creativity" else {f"{kind}/build_comprehensive": "comprehensive"}),
    }
    beside = f"{kind}/{FREE}/build_evaluation"
    if any(entry.of(beside) for entry in entries):
        names[beside] = "evaluation by rules, built only"
    counted = "counts as 0, as in the paper" if failed_plans == "zero" else "is left out, as in the paper's code"
    notes = [f"Points of 10. In the evaluation score what cannot be built {counted}."]
    if kind == "creativity":
        notes.append("The comprehensive score of creativity needs votes: worldgauge mineanybuild vote.")
    notes += _agreement(entries, f"{kind}/build_graded", beside)
    return _table(entries, kind, f"{kind.capitalize()}: both means", names, notes)


def _agreement(entries: Sequence[BuildScores], paid: str, free: str) -> list[str]:
    """How far the critic orders answers as the rules do, where both graded them."""
    pairs = []
    for entry in entries:
        values = {score.task: score.value for score in entry.of(free)}
        pairs += [(score.value, values[score.task]) for score in entry.of(paid) if score.task in values]
    found = correlation([x for x, _ in pairs], [y for _, y in pairs], rng=np.random.default_rng(0), n=200)
    if found.spearman is None:
        return []
    return [f"Spearman's correlation of the critic's evaluation with the rules', over answers: {found.spearman:.2f}."]


def _matching(entries: Sequence[BuildScores], kind: str) -> Table:
    names = {f"{kind}/{metric}": title for metric, title in MATCHING.items()}
    note = (
        "Matching is a recall: a solid box of the commonest block may get full marks, so read precision and F1 beside "
        "it. Blocks are compared by name, without states."
    )
    return _table(entries, kind, f"{kind.capitalize()}: the true build, block by block", names, (note,))


def _output(entries: Sequence[BuildScores], builds: Sequence[str]) -> Table:
    title = "Output success rate: answers that can be built"
    rows = _rows(entries, builds, lambda entry: (entry.cell(f"{kind}/build_executable", kind) for kind in builds), 0)
    note = "An answer that can be built is not yet a good one: any matrix of known block numbers can be built."
    return Table("build_executable", title, "%", "higher", tuple(builds), rows, (note,))


def _grades(entries: Sequence[BuildScores], kind: str) -> Table:
    names = {f"{kind}/{name}/build_grade": name for name in DIMENSIONS[kind]}
    return _table(entries, kind, f"{kind.capitalize()}: grades by dimension", names, ("Of what was built, 1 to 10.",))


def _soundness(entries: Sequence[BuildScores]) -> Table:
    """What geometry says of all that was built, whoever grades it."""
    columns = {f"soundness/build_{name}": name for name in SOUND}
    rows = [
        TableRow(entry.label, tuple(entry.cell(metric) for metric in columns), entry.kind)
        for entry in entries
        if any(entry.of(metric) for metric in columns)
    ]
    note = (
        "Shares of blocks that are supported, hang together, and have their like in the best mirror image or turn; "
        "how much likelier neighbours are alike than by chance; touching blocks of one material; entropy of the "
        "materials; share of the inside that can be walked to. Of answers that can be built."
    )
    names, betters = tuple(columns.values()), tuple(metric_facts(metric)[1] for metric in columns)
    title = "Soundness of what was built"
    return Table("soundness", title, "1", "neither", names, tuple(rows), (note,), betters=betters)


def _by_group(entries: Sequence[BuildScores], kind: str, key: str, names: Sequence[str], word: str) -> Table:
    """The full marks of one kind by a key of its group."""
    own = [entry for entry in entries if entry.expected(kind)]
    rows = _rows(own, [kind], lambda entry: (entry.cell(HEADLINE, kind, **{key: name}) for name in names), 0)
    title = f"{kind.capitalize()}: full marks by {word}"
    return Table(f"{kind}/by_{key}", title, "%", "higher", tuple(names), rows)


def _reasoning(entries: Sequence[BuildScores]) -> Table:
    """Accuracy by kind of question, what guessing comes to, and what was answered."""
    metric = "reasoning/reasoning_accuracy"
    own = [entry for entry in entries if entry.expected("reasoning")]

    def cells(entry: BuildScores) -> Iterator[Cell]:
        yield entry.cell(metric, "reasoning")
        yield from (entry.cell(metric, "reasoning", variant=variant) for variant in VARIANTS)

    chance = _told(own, "reasoning", "chance")
    notes = [
        ("" if chance is None else f"Guessing comes to {chance:.2f} % of all, ")
        + "25 % of the same and the different, 50 % of the judged. Unreadable answers are wrong."
    ]
    for entry in own:
        read = Counter(str(score.facts["read"] or "unreadable") for score in entry.of(metric))
        notes.append(f"{entry.label} answered " + ", ".join(f"{name} {read[name]}" for name in sorted(read)) + ".")
    rows = _rows(own, ["reasoning"], cells, 0)
    title = "Reasoning: accuracy by kind of question"
    return Table(metric, title, "%", "higher", ("all", *VARIANTS), rows, tuple(notes))


def _commonsense(entries: Sequence[BuildScores]) -> Table:
    names = {
        "commonsense/build_commonsense": "mark, of 10",
        "commonsense/build_commonsense_success": "marks of 7 and more, %",
    }
    return _table(entries, "commonsense", "Commonsense: marks of answers in words", names, ())


def _table(
    entries: Sequence[BuildScores], kind: str, title: str, names: Mapping[str, str], notes: Sequence[str]
) -> Table:
    """One kind of task, a column a metric."""
    own = [entry for entry in entries if entry.expected(kind)]
    first, columns = next(iter(names)), tuple(names.values())
    rows = _rows(own, [kind], lambda entry: (entry.cell(metric, kind) for metric in names), 0)
    betters = tuple(metric_facts(metric)[1] for metric in names)
    return Table(first, title, metric_facts(first)[0], "higher", columns, rows, tuple(notes), betters=betters)


def _reasons(entries: Sequence[BuildScores]) -> Table:
    """What became of the answers that should be builds."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        own = [score for kind in BUILD_KINDS for score in entry.of(f"{kind}/build_executable")]
        counts[entry.label] = Counter(str(score.facts["reason"] or "built").replace("_", " ") for score in own)
        counts[entry.label] += Counter({"failed": sum(entry.lost(kind) for kind in BUILD_KINDS)})
    columns = sorted({end for own in counts.values() for end in own}, key=lambda end: (end == "failed", end != "built"))
    rows = [
        TableRow(
            entry.label,
            tuple(Cell(float(counts[entry.label][end]), None, counts[entry.label].total()) for end in columns),
            entry.kind,
        )
        for entry in entries
    ]
    return Table("reading", "Plans by outcome", "tasks", "neither", tuple(columns), tuple(rows))


_PIECES = (
    "Pieces: words, up to three digits, marks side by side and line ends of the blueprint, without the plan. They "
    "stand for tokens if an endpoint counts none."
)


def _by_round(entries: Sequence[BuildScores], kind: str) -> Table:
    """Full marks and F1 of each answer of a build."""
    own = [entry for entry in entries if entry.expected(kind)]
    told = {entry.label: [one for one in entry.of(HEADLINE, kind) if "rounds" in one.facts] for entry in own}
    count = max(len(score.facts["rounds"]) for scores in told.values() for score in scores)
    names = ("full_marks", "f1") if kind != "creativity" else ("full_marks",)

    def cells(entry: BuildScores) -> Iterator[Cell]:
        scores = told[entry.label]
        for name, number in product(names, range(count)):
            # An agent that gave up early keeps its last answer.
            rounds = [score.facts["rounds"] for score in scores]
            values = [one[min(number, len(one) - 1)][name] for one in rounds]
            yield make_cell(values, (0.0, 100.0), None, clusters=map(cluster_of_score, scores))

    columns = tuple(f"{name.replace('full_marks', 'full marks')}, {n + 1}" for name, n in product(names, range(count)))
    note = "Graded by the critic rules. Other tables show the last round."
    title = f"{kind.capitalize()}: full marks and F1 by round"
    return Table(f"{kind}/by_round", title, "%", "higher", columns, _rows(own, [kind], cells), (note,))


def _cost(entries: Sequence[BuildScores]) -> Table:
    """What an answer took, where agents say it, and what grading it took."""
    names = {"input_tokens": "tokens in", "output_tokens": "tokens out", "cost": "cost"}
    in_lines = ("pieces per block",) if any("pieces" in one.facts for e in entries for one in e.of(HEADLINE)) else ()
    notes = (_PIECES,) if in_lines else ()
    rows = []
    for entry in entries:
        own = entry.of(HEADLINE)
        expected = len(own) + entry.lost()

        def cell(scores: Sequence[Score], amounts: Sequence[float | None], most: int | None) -> Cell:
            return make_cell(amounts, (0.0, np.inf), most, clusters=map(cluster_of_score, scores))

        placed = [score for score in own if score.facts.get("output_tokens") and score.facts.get("blocks")]
        graded = [score for name in GRADED for score in entry.of(name)]
        cells = (
            *(cell(own, [score.facts.get(name) for score in own], expected) for name in names),
            cell(placed, [score.facts["output_tokens"] / score.facts["blocks"] for score in placed], None),
            cell(graded, [critic_tokens(score.facts) for score in graded], expected),
        )
        written = [score for score in own if score.facts.get("pieces")]
        if in_lines:
            pieces = [score.facts["pieces"] / score.facts["blocks"] for score in written]
            cells = (*cells, cell(written, pieces, None))
        rows.append(TableRow(entry.label, cells, entry.kind))
    columns = (*names.values(), "tokens out per block", "critic's tokens", *in_lines)
    return Table(
        "cost",
        "Cost per answer",
        "1",
        "neither",
        columns,
        tuple(rows),
        notes,
        betters=tuple("neither" for _ in columns),
    )
