"""Comparison of subjects: who is better, by how much, whether the data can show it, and the verdict in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np

from worldgauge.core.paired import holm, paired_differences, rank_ranges
from worldgauge.core.statistics import LEVEL, balanced_interval, mean_std
from worldgauge.engine.suite.contract import Cell, Table
from worldgauge.engine.suite.scores import pairs_with_models
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.wording import Vocabulary, digits_for, listed, number, times


@dataclass(frozen=True)
class Standing:
    """One subject over all trajectories with a score.

    Attributes:
        label: Label of the subject.
        mean: Mean over trajectories.
        low: Lower end of its interval, or None.
        high: Upper end of its interval, or None.
        n: Number of trajectories.
        places: Best and worst place that the data allow. Empty for a flagged subject.
        flag: Why the value is misleading.
    """

    label: str
    mean: float
    low: float | None
    high: float | None
    n: int
    places: tuple[int, ...]
    flag: str = ""

    @property
    def rank(self) -> str:
        """ "2", or "2-4" where the data cannot decide; a dash without a place."""
        if not self.places:
            return "–"
        first, last = self.places
        return str(first) if first == last else f"{first}–{last}"


@dataclass(frozen=True)
class Difference:
    """a minus b on the trajectories that both have scores for; positive means that a is higher.

    Attributes:
        a: Label of the first subject.
        b: Label of the second subject.
        mean: Mean difference.
        low: Lower end of its interval, or None.
        high: Upper end of its interval, or None.
        p: Two-sided p-value of this pair alone; None for a pair that is not tested, see `pairs_with_models`.
        n: Number of trajectories.
        p_holm: p-value corrected for all tested pairs of the page.
        clusters: Number of clusters of the trajectories.
    """

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

    def flipped(self) -> Difference:
        """b minus a."""
        low, high = (None, None) if self.low is None or self.high is None else (-self.high, -self.low)
        return replace(self, a=self.b, b=self.a, mean=-self.mean, low=low, high=high)


@dataclass(frozen=True)
class Comparison:
    """All subjects and pairs for one metric.

    Places and p-values come from the same tests, so one page cannot contradict itself.

    Attributes:
        standings: Subjects with a value, best mean first, flagged ones last.
        pairs: All pairs that share a trajectory.
        endless: Number of infinite values by subject, for subjects that have any. A mean cannot include them.
        higher: Whether higher values are better.
    """

    standings: tuple[Standing, ...]
    pairs: tuple[Difference, ...]
    endless: Mapping[str, int] = field(default_factory=dict)
    higher: bool = True

    @cached_property
    def signed(self) -> Mapping[tuple[str, str], Difference]:
        """a minus b for every pair (a, b), in both orders."""
        return {(d.a, d.b): d for pair in self.pairs for d in (pair, pair.flipped())}

    @cached_property
    def by_label(self) -> Mapping[str, Standing]:
        """Standing by label."""
        return {standing.label: standing for standing in self.standings}

    @cached_property
    def flags(self) -> Mapping[str, str]:
        """Flag by label, for flagged subjects."""
        return {standing.label: standing.flag for standing in self.standings if standing.flag}

    @property
    def can_order(self) -> bool:
        """Whether a pair without a flag could be tested."""
        return any(pair.p is not None and not {pair.a, pair.b} & self.flags.keys() for pair in self.pairs)

    @property
    def tested(self) -> int:
        """Number of tests that the p-values are corrected for."""
        return sum(pair.p is not None for pair in self.pairs)

    def shows_lead(self, difference: Difference) -> bool:
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
) -> Comparison:
    """Compare all rows that have a finite value of a metric. p-values of tested pairs are corrected together (Holm)."""
    everything = {e.label: e.values(metric) for e in evidence.runs}
    values = {label: _finite(theirs) for label, theirs in everything.items()}
    endless = {label: len(everything[label]) - len(theirs) for label, theirs in values.items()}
    values = {label: theirs for label, theirs in values.items() if theirs}
    stratum = {task: str(group.get(balanced, "")) for task, group in evidence.groups.items()}
    means = {label: _mean(theirs, stratum) for label, theirs in values.items()}
    sign = -1 if higher else 1
    labels = sorted(values, key=lambda label: (bool(flags.get(label)), sign * means[label], label))
    kinds = [evidence[label].kind for label in labels]
    pairs = _differences(values, labels, kinds, bounds, stratum, evidence.clusters)
    beaten = [(d.a, d.b) if (d.mean > 0) == higher else (d.b, d.a) for d in pairs if d.clear]
    ranked = [label for label in labels if not flags.get(label)]
    placed = rank_ranges(ranked, [(a, b) for a, b in beaten if a in ranked and b in ranked])
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
        held = tuple(placed[label]) if label in ranked else ()
        standings.append(Standing(label, means[label], low, high, len(values[label]), held, flags.get(label, "")))
    return Comparison(
        tuple(standings), tuple(pairs), {label: count for label, count in endless.items() if count}, higher
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
    kinds: Sequence[str],
    bounds: tuple[float, float],
    stratum: Mapping[str, str],
    cluster: Mapping[str, str],
) -> list[Difference]:
    """All pairs of rows that share a task."""
    most = bounds[1] - bounds[0]
    both = list(combinations(range(len(labels)), 2))
    tested = set(pairs_with_models(kinds))
    found = paired_differences([values[label] for label in labels], stratum, cluster, pairs=both, bounds=bounds)
    pairs = []
    for (a, b), mean, _, _, low, high, p, n, clusters in zip(both, *(one.tolist() for one in found), strict=True):
        if n:
            least, greatest = (None, None) if math.isnan(low) else (max(low, -most), min(high, most))
            alone = None if math.isnan(p) or (a, b) not in tested else p
            pairs.append(Difference(labels[a], labels[b], mean, least, greatest, alone, n, clusters=clusters))
    corrected = holm([pair.p for pair in pairs])
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, corrected, strict=True)]


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}


METRIC = "sharpness"


@dataclass(frozen=True)
class Appearance:
    """Sharpness of all subjects.

    Attributes:
        name: Name of the axis.
        values: Value by label and task.
        relative: Whether values are relative, with 1 as sharp as the truth.
    """

    name: str
    values: Mapping[str, Mapping[str, float]]
    relative: bool

    def mean(self, label: str) -> float | None:
        """Mean over trajectories; None without any."""
        values = self.values.get(label, {})
        return math.fsum(values.values()) / len(values) if values else None


def appearance(evidence: Evidence) -> Appearance | None:
    """Sharpness divided by that of the truth on the same trajectory.

    Without a run of the truth the sharpness itself is used.
    """
    if not evidence.has(METRIC):
        return None
    values = {run.label: run.values(METRIC) for run in evidence.runs}
    truth = next((values[e.label] for e in evidence.runs if e.is_truth and values[e.label]), None)
    if truth is None:
        return Appearance(METRIC, values, relative=False)
    shares = {
        label: {task: v / truth[task] for task, v in theirs.items() if truth.get(task)}
        for label, theirs in values.items()
    }
    return Appearance(f"{METRIC}, truth = 1", shares, relative=True)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a report.

    Attributes:
        headline: One sentence.
        support: The evidence for it, in a few sentences.
    """

    headline: str
    support: tuple[str, ...]


HEDGE = "hedge"
"""The reference that a claim of memory is made beside: what an error in pixels rewards in a model without memory."""
_NO_HEDGE = f"the reference '{HEDGE}' was not run with it"
NOTHING = Verdict("Nothing was scored.", ())
_PLAIN = Vocabulary()


def verdict(
    evidence: Evidence,
    name: str,
    compared: Comparison,
    shown: Appearance | None,
    *,
    floor: Collection[str] = (),
    claim: str = "",
    memory: bool = False,
    words: Vocabulary = _PLAIN,
) -> Verdict:
    """Decide whether models keep the suite's claim.

    A model keeps it when it beats every floor reference by a clear difference. A claim of memory takes more: the
    reference `hedge` among them, and, of a model under test, the same model shown less.

    Models under test are judged, or, where none was run, references that saw nothing hidden. Flagged ones are not
    judged, but a flag does not remove a floor reference. Without a claim the verdict only says who leads.
    """
    if not compared.standings:
        return NOTHING
    means = compared.by_label
    flags = compared.flags
    if len(flags) == len(means):
        return Verdict(f"Nobody is in the running: {_flagged(flags)}.", ())
    fair = [
        e
        for e in evidence.runs
        if not e.privileged and e.source not in floor and e.label in means and e.label not in flags
    ]
    if memory:
        shorter = [less.label for run in fair if (less := evidence.shown_less(run)) is not None]
        fair = [run for run in fair if run.label not in shorter]
    tested = [e.label for e in fair if e.kind == "subject"]
    yardsticks = [e.label for e in fair if e.kind == "reference"]
    bar = [e.label for e in evidence.runs if e.source in floor and e.label in means]
    judged = tested or yardsticks
    out = (f"Not in the running: {_flagged(flags)}.",) if flags else ()
    tail = (*out, *_stand_in(evidence, compared, name, shown, floor, words.lacks))
    if not claim or not judged or not bar:
        no_bar = f"no reference that {words.lacks} was run with it"
        missing = "" if not claim else _none_judged(evidence, flags, words) if not judged else no_bar
        leading = _leading(compared, judged or [label for label in means if label not in flags], name, missing, words)
        return Verdict(leading.headline, (*leading.support, *tail))
    lacking = {label: _lacking(evidence, compared, label, bar, words.lacks, memory=memory) for label in judged}
    passed = [label for label in judged if not lacking[label]]
    best, strongest = _best(compared, passed or judged), _best(compared, bar)
    support = [_evidence_for(best, strongest, compared.signed.get((best.label, strongest.label)), name, words)]
    if tested and yardsticks:
        yardstick = _best(compared, yardsticks)
        support.append(f"The best of the other references, {yardstick.label}, has {_with_interval(yardstick, name)}.")
    if not tested:
        seeing = [e.label for e in evidence.runs if e.privileged and e.source not in floor]
        unjudged = (
            f"; {listed(seeing)}, shown what is hidden, {'is' if len(seeing) == 1 else 'are'} not judged"
            if seeing
            else ""
        )
        support.append(f"Only references are compared, {_none_judged(evidence, flags, words)}{unjudged}.")
    if tested:
        headline = _headline(tested, lacking, claim, f"references that {words.lacks}", memory=memory)
    else:
        headline = _headline_of_references(lacking, bar, claim, memory=memory)
    if memory and len(judged) > 1:
        support += [f"Not shown of {label}: {listed(why)}." for label, why in lacking.items() if why]
    return Verdict(headline, (*support, *tail))


def _lacking(
    evidence: Evidence, compared: Comparison, label: str, bar: Sequence[str], lacks: str, *, memory: bool
) -> list[str]:
    """What a claim needs and the data do not show of one subject; empty where they show all of it."""
    why = []
    if not all(_beats(compared, label, other) for other in bar):
        why.append(f"it is not measurably better than references that {lacks}")
    if not memory:
        return why
    run = evidence[label]
    if not any(evidence[other].source == HEDGE for other in bar):
        why.append(_NO_HEDGE)
    less = evidence.shown_less(run)
    if less is not None:
        if not _beats(compared, label, less.label):
            why.append(f"it is not measurably better than itself shown {times(less.context or 0, 'frame', 'frames')}")
    elif run.kind == "subject" and run.context == 1:
        why.append("it was shown a single frame")
    elif run.kind == "subject":
        why.append(f"it was not run with less to see (as '{_less_of(run)}')")
    return why


def _beats(compared: Comparison, label: str, other: str) -> bool:
    """Whether the corrected paired test shows that `label` is better than `other`."""
    pair = compared.signed.get((label, other))
    return pair is not None and pair.clear and (pair.mean > 0) == compared.higher


def _less_of(run: ComparedRun) -> str:
    """How the model is named that is shown one frame."""
    name = str(run.facts["subject"].get("model", run.source))
    return f"{name}{'&' if '?' in name else '?'}context_frames=1"


def _flagged(flags: Mapping[str, str]) -> str:
    """ "a (does not move) and b (pose-conditioned)"."""
    return listed([f"{label} ({flag})" for label, flag in flags.items()])


def _none_judged(evidence: Evidence, flags: Mapping[str, str], words: Vocabulary) -> str:
    """Why there is no model to judge: none was run, or none of those that were has a score, or all are flagged."""
    run = [e.label for e in evidence.runs if e.kind == "subject"]
    if any(label in flags for label in run):
        return f"no {words.subject} under test can be judged"
    return (
        f"{listed(run)} {'has' if len(run) == 1 else 'have'} no score"
        if run
        else f"no {words.subject} under test was run"
    )


def stands_in(run: ComparedRun, floor: Collection[str]) -> bool:
    """Tell whether a run is a reference that renders from the world itself and yet has no memory."""
    return run.source in floor and "world" in run.sees


def _best(compared: Comparison, labels: Collection[str]) -> Standing:
    sign = 1 if compared.higher else -1
    return max((s for s in compared.standings if s.label in labels), key=lambda standing: sign * standing.mean)


def _leading(compared: Comparison, labels: Sequence[str], name: str, missing: str, words: Vocabulary) -> Verdict:
    """Who has the best mean of `labels`, and whether the data separate it from the next."""
    best = _best(compared, labels)
    verb = "has" if len(labels) == 1 else f"is first of {len(labels)} subjects with"
    headline = f"{best.label} {verb} {_with_interval(best, name)}{'; ' + missing if missing else ''}."
    others = [label for label in labels if label != best.label]
    if not others:
        return Verdict(headline, ())
    second = _best(compared, others)
    pair = compared.signed.get((best.label, second.label))
    if pair is None:
        return Verdict(headline, (f"It shares no {words.task} with the next, {second.label}.",))
    outcome = "tells the two apart" if pair.clear else "does not tell the two apart"
    return Verdict(headline, (f"The next is {second.label}. {_paired(pair)} The difference {outcome}.",))


def _headline(
    tested: Sequence[str], lacking: Mapping[str, Sequence[str]], claim: str, references: str, *, memory: bool
) -> str:
    count, passed = len(tested), [label for label in tested if not lacking[label]]
    bar = f"better than {references}"
    if count == 1:
        (only,) = tested
        if passed:
            return f"{only} {claim}, {bar}{' and than itself shown less' if memory else ''}."
        return f"Nothing shows that {only} {claim}: {listed(lacking[only])}."
    if not passed and memory:
        return f"Nothing shows that {'either' if count == 2 else 'any'} of {count} models {claim}."
    if not passed:
        who = "Neither of 2 models" if count == 2 else f"None of {count} models"
        return f"{who} {claim} measurably {bar}."
    bar += (" and than itself shown less" if len(passed) == 1 else " and than themselves shown less") if memory else ""
    if len(passed) == 1:
        return f"Of {count} models only {passed[0]} {claim} {bar}."
    if len(passed) == count:
        return f"Each of {count} models {claim} {bar}."
    return f"Of {count} models each of {listed(passed)} {claim} {bar}."


def _headline_of_references(
    lacking: Mapping[str, Sequence[str]], bar: Sequence[str], claim: str, *, memory: bool
) -> str:
    passed = [label for label, why in lacking.items() if not why]
    if not passed and len(lacking) == 1 and memory:
        ((only, why),) = lacking.items()
        return f"References only; that {only} {claim} is not shown, since {listed(why)}."
    if not passed and all(_NO_HEDGE in why for why in lacking.values()):
        return (
            f"References only; that {' or '.join(lacking)} {claim} is not shown, since the reference '{HEDGE}' "
            "was not run with them."
        )
    if not passed:
        return f"References only, and not one {claim} measurably better than {listed([_quoted(b) for b in bar])}."
    who = f"Only {passed[0]}" if len(passed) == 1 else f"Each of {listed(passed)}"
    return f"{who} {claim}; {listed([_quoted(b) for b in bar])} {'does' if len(bar) == 1 else 'do'} not."


def _quoted(label: str) -> str:
    """A name that would be read as a word of the sentence, marked."""
    return f"“{label}”" if label in ("none", "all") else label


def _evidence_for(best: Standing, bar: Standing, pair: Difference | None, name: str, words: Vocabulary) -> str:
    said = (
        f"{best.label} has {_with_interval(best, name)} over {times(best.n, words.task, words.tasks)}; "
        f"the strongest reference that {words.lacks}, {_quoted(bar.label)}, has {_said(bar.mean)}"
    )
    return said + (f"; they share no {words.task}." if pair is None else f". {_paired(pair)}")


def _paired(pair: Difference) -> str:
    reach = f", 95% interval {_said(pair.low)} to {_said(pair.high)}" if pair.low is not None else ""
    return f"Paired difference {_said(pair.mean, sign=True)}{reach}."


def _stand_in(
    evidence: Evidence,
    compared: Comparison,
    name: str,
    shown: Appearance | None,
    floor: Collection[str],
    lacks: str,
) -> tuple[str, ...]:
    """Looks and what is measured are two things: said with the numbers of the reference made to show it."""
    run = next((e for e in evidence.runs if stands_in(e, floor) and e.label in compared.by_label), None)
    ratio = shown.mean(run.label) if run is not None and shown is not None and shown.relative else None
    if run is None or ratio is None:
        return ()
    score = f"{name} {_said(compared.by_label[run.label].mean)}"
    return (f"{run.label}, which {lacks}, is {number(ratio, digits=2)} times as sharp as the truth: {score}.",)


def _with_interval(standing: Standing, name: str) -> str:
    reach = f" [{_said(standing.low)}, {_said(standing.high)}]" if standing.low is not None else ""
    return f"{name} {_said(standing.mean)}{reach}"


def _said(value: float | None, *, sign: bool = False) -> str:
    """A number that stands alone: a small one keeps what it says."""
    return number(value, digits=digits_for([value]), sign=sign)
