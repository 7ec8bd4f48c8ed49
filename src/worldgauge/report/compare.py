"""Comparison of models: who is better, by how much, whether the data can show it, and the verdict in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np

from worldgauge.core.english import listed
from worldgauge.core.intervals import LEVEL, balanced_interval, mean_std
from worldgauge.core.paired_tests import holm, paired_differences, rank_ranges
from worldgauge.engine.coverage import Coverage, View
from worldgauge.engine.suite.contract import Cell, Table
from worldgauge.engine.suite.scores import pairs_with_models
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.memory_claim import MemoryEvidence
from worldgauge.report.wording import Vocabulary, digits_for, number, times


@dataclass(frozen=True)
class Standing:
    """One model over all trajectories with a score."""

    label: str
    mean: float
    low: float | None
    high: float | None
    n: int
    places: tuple[int, ...]
    flag: str = ""
    group: str = ""

    @property
    def rank(self) -> str:
        """ "2", or "2-4" where the data cannot decide; a dash without a place."""
        if not self.places:
            return "–"
        first, last = self.places
        return str(first) if first == last else f"{first}–{last}"


@dataclass(frozen=True)
class PairDifference:
    """a minus b on the trajectories that both have scores for; positive means that a is higher."""

    a: str
    b: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    p_holm: float | None = None
    clusters: int = 0

    @property
    def clear(self) -> bool:
        """Whether the corrected test shows a difference. The interval is of this pair alone and may exclude zero."""
        return self.p_holm is not None and self.p_holm <= 1 - LEVEL

    def flipped(self) -> PairDifference:
        """b minus a."""
        low, high = (None, None) if self.low is None or self.high is None else (-self.high, -self.low)
        return replace(self, a=self.b, b=self.a, mean=-self.mean, low=low, high=high)


@dataclass(frozen=True)
class Comparison:
    """All models and pairs for one metric. Places and p-values are of the same tests, so a page is consistent."""

    standings: tuple[Standing, ...]  # models with a value, best mean first, flagged ones last
    pairs: tuple[PairDifference, ...]  # all that share a task
    endless: Mapping[str, int] = field(
        default_factory=dict
    )  # number of infinite values by model, which a mean cannot include
    higher: bool = True
    views: Mapping[str, View] = field(default_factory=dict)  # part of the recorded picture by label; None for all
    groups: Mapping[str, str] = field(default_factory=dict)  # `TableRow.group` by label of a model; each has its ranks

    @cached_property
    def signed(self) -> Mapping[tuple[str, str], PairDifference]:
        """a minus b for every pair (a, b), in both orders."""
        return {(d.a, d.b): d for pair in self.pairs for d in (pair, pair.flipped())}

    @cached_property
    def by_label(self) -> Mapping[str, Standing]:
        """Standing by label."""
        return {standing.label: standing for standing in self.standings}

    @cached_property
    def flags(self) -> Mapping[str, str]:
        """Flag by label, for flagged models."""
        return {standing.label: standing.flag for standing in self.standings if standing.flag}

    @property
    def can_order(self) -> bool:
        """Whether a pair without a flag could be tested."""
        return any(pair.p is not None and not {pair.a, pair.b} & self.flags.keys() for pair in self.pairs)

    @property
    def tested(self) -> int:
        """Number of tests that the p-values are corrected for."""
        return sum(pair.p is not None for pair in self.pairs)

    def shows_lead(self, difference: PairDifference) -> bool:
        """Whether one side is clearly better and is not flagged."""
        ahead = difference.a if (difference.mean > 0) == self.higher else difference.b
        return difference.clear and ahead not in self.flags


def compare(
    evidence: Evidence,
    metric: str,
    *,
    higher: bool = True,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    flags: Mapping[str, str] = MappingProxyType({}),
    balanced: str = "",
    table: Table | None = None,
    coverage: Coverage | None = None,
) -> Comparison:
    """Compare the rows with a finite value of a metric; Holm corrects the p-values of all tested pairs together. Only
    pairs with a model are tested, if there is one, and only rows of the same view and data."""
    foreign = coverage.foreign if coverage else {}
    views = coverage.views if coverage else {}
    everything = {
        e.label: {task: value for task, value in e.values(metric).items() if task not in foreign.get(e.label, ())}
        for e in evidence.runs
    }
    values = {
        label: {task: value for task, value in theirs.items() if math.isfinite(value)}
        for label, theirs in everything.items()
    }
    endless = {label: len(everything[label]) - len(theirs) for label, theirs in values.items()}
    values = {label: theirs for label, theirs in values.items() if theirs}
    stratum = {task: str(group.get(balanced, "")) for task, group in evidence.groups.items()}
    means = {label: _mean(theirs, stratum) for label, theirs in values.items()}
    sign = -1 if higher else 1
    labels = sorted(values, key=lambda label: (bool(flags.get(label)), sign * means[label], label))
    # A flagged model wins nothing, so its pairs must not cost the others their power.
    runs = [evidence[label] for label in labels]
    kinds = ["flagged" if run.kind == "model" and flags.get(run.label) else run.kind for run in runs]
    rows = table.rows if table else ()
    groups = {row.label: row.group for row in rows if row.label in labels and evidence[row.label].kind == "model"}
    tested = {
        (a, b)
        for a, b in pairs_with_models(kinds)
        if views.get(labels[a]) == views.get(labels[b])
        and len({groups[label] for label in (labels[a], labels[b]) if label in groups}) < 2
    }
    pairs = _differences(values, labels, tested, bounds, stratum, evidence.clusters)
    beaten = [(d.a, d.b) if (d.mean > 0) == higher else (d.b, d.a) for d in pairs if d.clear]
    ranked = [label for label in labels if not flags.get(label)]
    placed: dict[str, tuple[int, int]] = {}
    for group in sorted({groups[label] for label in ranked if label in groups}) or [""]:
        own = [label for label in ranked if groups.get(label, group) == group]
        if len(own) == 1 < len(labels):
            continue  # all others are flagged: the first of one row is no rank
        ranges = rank_ranges(own, [(a, b) for a, b in beaten if a in own and b in own])
        placed = {**ranges, **placed}
    standings = []
    for label in labels:
        tasks = _by_stratum(values[label], stratum)
        cell = _cell_of(table, label, means[label], len(values[label]))
        if cell is not None:
            low, high = cell.low, cell.high
        else:
            parts = [[values[label][task] for task in own] for own in tasks]
            clusters = [[evidence.clusters[task] for task in own] for own in tasks]
            interval = balanced_interval(parts, clusters)
            low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
        held = tuple(placed.get(label, ())) if label in ranked else ()
        remarks = flags.get(label, ""), groups.get(label, "")
        standings.append(Standing(label, means[label], low, high, len(values[label]), held, *remarks))
    return Comparison(
        tuple(standings),
        tuple(pairs),
        {label: count for label, count in endless.items() if count},
        higher,
        views,
        groups,
    )


def _cell_of(table: Table | None, label: str, mean: float, n: int) -> Cell | None:
    """The cell of a row that is over the same values: as many, with the same mean."""
    cells = [cell for row in (table.rows if table else ()) if row.label == label for cell in row.cells]
    alike = (cell for cell in reversed(cells) if cell.n == n and cell.mean is not None)
    return next((cell for cell in alike if math.isclose(cell.mean or 0.0, mean, rel_tol=1e-9, abs_tol=1e-12)), None)


def _by_stratum(values: Mapping[str, float], stratum: Mapping[str, str]) -> list[list[str]]:
    """Tasks by stratum; one part where there are no strata."""
    found: dict[str, list[str]] = {}
    for task in sorted(values):
        found.setdefault(stratum.get(task, ""), []).append(task)
    return list(found.values())


def _mean(values: Mapping[str, float], stratum: Mapping[str, str]) -> float:
    means = [mean_std([values[task] for task in tasks]).mean for tasks in _by_stratum(values, stratum)]
    return mean_std(means).mean or 0.0


def _differences(
    values: Mapping[str, Mapping[str, float]],
    labels: Sequence[str],
    tested: Collection[tuple[int, int]],
    bounds: tuple[float, float],
    stratum: Mapping[str, str],
    cluster: Mapping[str, str],
) -> list[PairDifference]:
    """All pairs of rows that share a task."""
    most = bounds[1] - bounds[0]
    both = list(combinations(range(len(labels)), 2))
    found = paired_differences([values[label] for label in labels], stratum, cluster, pairs=both, bounds=bounds)
    pairs = []
    for (a, b), mean, _, _, low, high, p, n, clusters in zip(both, *(one.tolist() for one in found), strict=True):
        if n:
            least, greatest = (None, None) if math.isnan(low) else (max(low, -most), min(high, most))
            alone = None if math.isnan(p) or (a, b) not in tested else p
            pairs.append(PairDifference(labels[a], labels[b], mean, least, greatest, alone, n, clusters=clusters))
    corrected = holm([pair.p for pair in pairs])
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, corrected, strict=True)]


SHARPNESS = "sharpness"


@dataclass(frozen=True)
class Appearance:
    """Sharpness of all models."""

    name: str  # of the axis
    values: Mapping[str, Mapping[str, float]]  # by label and task
    relative: bool  # 1 is as sharp as the truth

    def mean(self, label: str) -> float | None:
        """Mean over trajectories; None without any."""
        values = self.values.get(label, {})
        return math.fsum(values.values()) / len(values) if values else None


def appearance(evidence: Evidence) -> Appearance | None:
    """Sharpness as a share of the ground truth's on the same trajectory; without such a run, sharpness itself."""
    if not evidence.has(SHARPNESS):
        return None
    values = {run.label: run.values(SHARPNESS) for run in evidence.runs}
    truth = next((values[e.label] for e in evidence.runs if e.is_truth and values[e.label]), None)
    if truth is None:
        return Appearance(SHARPNESS, values, relative=False)
    shares = {
        label: {task: v / truth[task] for task, v in theirs.items() if truth.get(task)}
        for label, theirs in values.items()
    }
    return Appearance(f"{SHARPNESS}, ground truth = 1", shares, relative=True)


@dataclass(frozen=True)
class ReportVerdict:
    """The verdict of a report."""

    headline: str
    support: tuple[str, ...]


_ITSELF = " and than after frames of another place"
NOTHING = ReportVerdict("No scores: the runs are unfinished or failed.", ())
_PLAIN = Vocabulary()


def verdict(
    evidence: Evidence,
    name: str,
    compared: Comparison,
    shown: Appearance | None,
    *,
    floor: Collection[str] = (),
    claim: str = "",
    memory: Mapping[str, MemoryEvidence] | None = None,
    words: Vocabulary = _PLAIN,
) -> ReportVerdict:
    """Decide which models keep the claim: they beat every floor baseline clearly, and `memory` lacks nothing. Without
    models, baselines that saw nothing hidden are judged. A flag does not remove a floor baseline."""
    if not compared.standings:
        return NOTHING
    means = compared.by_label
    flags = compared.flags
    if len(flags) == len(means):
        return ReportVerdict(f"No row is in the running: {_flagged(flags)}.", ())
    fair = [
        e
        for e in evidence.runs
        if not e.privileged and e.source not in floor and e.label in means and e.label not in flags
    ]
    tested = [e.label for e in fair if e.kind == "model"]
    yardsticks = [e.label for e in fair if e.kind == "baseline"]
    users = [e.label for e in evidence.runs if e.kind == "model" and not e.privileged]
    judged = tested or yardsticks
    if users and not tested:
        why = [f"{label}: {flags.get(label, 'no score')}." for label in users]
        headline = f"Not in the running: {listed(users)}."
        return ReportVerdict(headline, (*why, *_baselines_lead(compared, yardsticks, name)))
    # All that are judged have the same view of the recorded picture; a floor must have it, too.
    view = compared.views.get(judged[0]) if judged else None
    bar = [e.label for e in evidence.runs if e.source in floor and compared.views.get(e.label) == view]
    bar = [label for label in bar if label in means]
    out = (f"Not in the running: {_flagged(flags)}.",) if flags else ()
    tail = (*out, *_stand_in(evidence, compared, name, shown, floor, words.lacks))
    if not claim or not judged or not bar:
        no_bar = f"no baseline that {words.lacks} was run with it"
        missing = "" if not claim else _none_run(words) if not judged else no_bar
        leading = _leading(compared, judged or [label for label in means if label not in flags], name, missing, words)
        return ReportVerdict(leading.headline, (*leading.support, *tail))
    short = f"it is not measurably better than baselines that {words.lacks}"
    lacking = {
        label: memory[label].lacking if memory else () if _beats_all(compared, label, bar) else (short,)
        for label in judged
    }
    passed = [label for label in judged if not lacking[label]]
    best, strongest = _best(compared, passed or judged), _best(compared, bar)
    support = [_evidence_for(best, strongest, compared.signed.get((best.label, strongest.label)), name, words)]
    if tested:
        support += _baselines_lead(compared, yardsticks, name)
    if not tested:
        seeing = [e.label for e in evidence.runs if e.privileged and e.source not in floor]
        unjudged = (
            f"; {listed(seeing)}, shown what is hidden, {'is' if len(seeing) == 1 else 'are'} not judged"
            if seeing
            else ""
        )
        support.append(f"Only baselines are compared, {_none_run(words)}{unjudged}.")
    if tested:
        headline = _headline(tested, lacking, claim, f"baselines that {words.lacks}", memory=bool(memory))
    else:
        headline = _headline_of_baselines(lacking, bar, claim, memory=bool(memory))
    if memory and len(judged) > 1:
        support += [f"Not shown of {label}: {listed(why)}." for label, why in lacking.items() if why]
    support += [memory[label].line for label in judged if memory[label].line] if memory else []
    return ReportVerdict(headline, (*support, *tail))


def _beats_all(compared: Comparison, label: str, others: Sequence[str]) -> bool:
    return all(_beats(compared, label, other) for other in others)


def _beats(compared: Comparison, label: str, other: str) -> bool:
    """Whether the corrected paired test shows that `label` is better than `other`."""
    pair = compared.signed.get((label, other))
    return pair is not None and pair.clear and (pair.mean > 0) == compared.higher


def _flagged(flags: Mapping[str, str]) -> str:
    """ "a (does not move) and b (pose-conditioned)"."""
    return listed([f"{label} ({flag})" for label, flag in flags.items()])


def _none_run(words: Vocabulary) -> str:
    """Why there is no model to judge."""
    return f"no {words.model} under test was run"


def _baselines_lead(compared: Comparison, labels: Sequence[str], name: str) -> tuple[str, ...]:
    """The best of the other baselines, if there is one."""
    best = _best(compared, labels) if labels else None
    return (
        () if best is None else (f"The best of the other baselines, {best.label}, has {_with_interval(best, name)}.",)
    )


def stands_in(run: ComparedRun, floor: Collection[str]) -> bool:
    """Tell whether a run is a baseline that renders from the world itself and yet has no memory."""
    return run.source in floor and "world" in run.sees


def _best(compared: Comparison, labels: Collection[str]) -> Standing:
    sign = 1 if compared.higher else -1
    return max((s for s in compared.standings if s.label in labels), key=lambda standing: sign * standing.mean)


def _leading(compared: Comparison, labels: Sequence[str], name: str, missing: str, words: Vocabulary) -> ReportVerdict:
    """Who has the best mean of `labels`, and whether the data separate it from the next."""
    best = _best(compared, labels)
    verb = "has" if len(labels) == 1 else f"is first of {len(labels)} models with"
    headline = f"{best.label} {verb} {_with_interval(best, name)}{'; ' + missing if missing else ''}."
    others = [label for label in labels if label != best.label]
    if not others:
        return ReportVerdict(headline, ())
    second = _best(compared, others)
    pair = compared.signed.get((best.label, second.label))
    if pair is None:
        return ReportVerdict(headline, (f"It shares no {words.task} with the next, {second.label}.",))
    outcome = "is significant" if pair.clear else "is not significant"
    return ReportVerdict(headline, (f"The next is {second.label}. {_paired(pair)} The difference {outcome}.",))


def _headline(
    tested: Sequence[str], lacking: Mapping[str, Sequence[str]], claim: str, baselines: str, *, memory: bool
) -> str:
    count, passed = len(tested), [label for label in tested if not lacking[label]]
    bar = f"better than {baselines}"
    if count == 1:
        (only,) = tested
        if passed:
            return f"{only} {claim}, {bar}{_ITSELF if memory else ''}."
        return f"Nothing shows that {only} {claim}: {listed(lacking[only])}."
    if not passed and memory:
        return f"Nothing shows that {'either' if count == 2 else 'any'} of {count} models {claim}."
    if not passed:
        who = "Neither of 2 models" if count == 2 else f"None of {count} models"
        return f"{who} {claim} measurably {bar}."
    bar += _ITSELF if memory else ""
    if len(passed) == 1:
        return f"Of {count} models only {passed[0]} {claim} {bar}."
    if len(passed) == count:
        return f"Each of {count} models {claim} {bar}."
    return f"Of {count} models each of {listed(passed)} {claim} {bar}."


def _headline_of_baselines(
    lacking: Mapping[str, Sequence[str]], bar: Sequence[str], claim: str, *, memory: bool
) -> str:
    passed = [label for label, why in lacking.items() if not why]
    if not passed and memory:
        why = f", since {listed(next(iter(lacking.values())))}" if len(lacking) == 1 else ""
        return f"Baselines only; that {' or '.join(lacking)} {claim} is not shown{why}."
    if not passed:
        return f"Baselines only, and not one {claim} measurably better than {listed([_quoted(b) for b in bar])}."
    who = f"Only {passed[0]}" if len(passed) == 1 else f"Each of {listed(passed)}"
    return f"{who} {claim}; {listed([_quoted(b) for b in bar])} {'does' if len(bar) == 1 else 'do'} not."


def _quoted(label: str) -> str:
    """A name that would be read as a word of the sentence, marked."""
    return f"“{label}”" if label in ("none", "all") else label


def _evidence_for(best: Standing, bar: Standing, pair: PairDifference | None, name: str, words: Vocabulary) -> str:
    said = (
        f"{best.label} has {_with_interval(best, name)} over {times(best.n, words.task, words.tasks)}; "
        f"the strongest baseline that {words.lacks}, {_quoted(bar.label)}, has {_said(bar.mean)}"
    )
    return said + (f"; they share no {words.task}." if pair is None else f". {_paired(pair)}")


def _paired(pair: PairDifference) -> str:
    reach = f" [{_said(pair.low)}, {_said(pair.high)}]" if pair.low is not None else ""
    return f"Paired difference {_said(pair.mean, sign=True)}{reach}."


def _stand_in(
    evidence: Evidence, compared: Comparison, name: str, shown: Appearance | None, floor: Collection[str], lacks: str
) -> tuple[str, ...]:
    """Looks and what is measured are two things: said with the numbers of the baseline made to show it."""
    run = next((e for e in evidence.runs if stands_in(e, floor) and e.label in compared.by_label), None)
    ratio = shown.mean(run.label) if run is not None and shown is not None and shown.relative else None
    if run is None or ratio is None:
        return ()
    score = f"{name} {_said(compared.by_label[run.label].mean)}"
    return (f"{run.label}, which {lacks}, is {number(ratio, digits=2)} times as sharp as the ground truth: {score}.",)


def _with_interval(standing: Standing, name: str) -> str:
    reach = f" [{_said(standing.low)}, {_said(standing.high)}]" if standing.low is not None else ""
    return f"{name} {_said(standing.mean)}{reach}"


def _said(value: float | None, *, sign: bool = False) -> str:
    """A number that stands alone: a small one keeps what it says."""
    return number(value, digits=digits_for([value]), sign=sign)


def verdict_of_kinds(
    evidence: Evidence,
    metric: str,
    claims: Mapping[str, str],
    *,
    bounds: tuple[float, float],
    floor: Sequence[str],
    flags: Mapping[str, str],
    words: Vocabulary = _PLAIN,
    table: Table | None = None,
) -> ReportVerdict | None:
    """Judge by kind of task if models beat every floor baseline, corrected over all kinds. None without models."""
    found = _by_kind(evidence, metric, claims, bounds, table)
    judged = [e.label for e in evidence.runs if e.kind == "model" and not e.privileged and e.label not in flags]
    judged = [label for label in judged if any(label in one.by_label for one in found.values())]
    if not judged:
        return None
    bar = [e.label for e in evidence.runs if e.source in floor]
    absent = [source for source in floor if source not in {e.source for e in evidence.runs}]
    # A floor may not apply to a kind, such as a walker's at a table.
    rivals_of = {kind: [other for other in bar if other in one.by_label] for kind, one in found.items()}
    kept = {
        label: [
            kind
            for kind, one in found.items()
            if not absent and rivals_of[kind] and _beats_all(one, label, rivals_of[kind])
        ]
        for label in judged
    }
    support = [f"No claim is made without the baselines {listed(absent)}."] if absent else []
    for label in judged:
        for kind, one in found.items():
            if (mine := one.by_label.get(label)) is None:
                continue
            line = f"{kind.capitalize()}: {_with_interval(mine, label)} over {times(mine.n, words.task, words.tasks)}."
            if rivals := rivals_of[kind]:
                best = _best(one, rivals)
                pair = one.signed.get((label, best.label))
                line += f" The strongest floor, {best.label}, has {_said(best.mean)}."
                line += "" if pair is None else f" {_paired(pair)}"
            support.append(line if kind in kept[label] else f"{line} That it {claims[kind]} is not shown.")
    support += [f"Not in the running: {_flagged(flags)}."] if flags else []
    bar_words = f"better than baselines that {words.lacks}"
    passed = [f"{label} {listed([claims[kind] for kind in own])}" for label, own in kept.items() if own]
    either = " or ".join(claims[kind] for kind in found)
    if passed:
        headline = f"{listed(passed)}, {bar_words}."
    else:
        headline = f"Nothing shows that {' or '.join(judged)} {either} {bar_words}."
    return ReportVerdict(headline, tuple(support))


def _by_kind(
    evidence: Evidence, metric: str, kinds: Collection[str], bounds: tuple[float, float], table: Table | None
) -> dict[str, Comparison]:
    """The comparison within each kind of task, with p-values that are corrected over all kinds."""
    found = {}
    for kind in kinds:
        own = [replace(e, scores=tuple(s for s in e.scores if s.group.get("task") == kind)) for e in evidence.runs]
        compared = compare(replace(evidence, runs=tuple(own)), metric, bounds=bounds, table=table)
        if compared.pairs:
            found[kind] = compared
    together = iter(holm([pair.p for compared in found.values() for pair in compared.pairs]))
    return {
        kind: replace(compared, pairs=tuple(replace(pair, p_holm=next(together)) for pair in compared.pairs))
        for kind, compared in found.items()
    }
