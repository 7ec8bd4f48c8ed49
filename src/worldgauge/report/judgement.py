"""Which rows are better and what is shown of them: the one judgement of report, leaderboard and demo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from worldgauge.engine.coverage import Coverage
from worldgauge.engine.result import tables_of
from worldgauge.engine.suite.base import AnsweredSuite, Suite
from worldgauge.engine.suite.contract import Table
from worldgauge.metrics._registry import metric_bounds
from worldgauge.report import wording
from worldgauge.report.compare import (
    NOTHING,
    SHARPNESS,
    Appearance,
    Comparison,
    ReportVerdict,
    appearance,
    compare,
    verdict,
    verdict_of_kinds,
)
from worldgauge.report.evidence import Evidence
from worldgauge.report.memory_claim import memory_evidence
from worldgauge.report.wording import Vocabulary


@dataclass(frozen=True)
class Judgement:
    """Tables of runs, and their comparison and verdict by the first one's metric, `name`; `shown` is the sharpness."""

    tables: list[Table]
    name: str
    higher: bool
    compared: Comparison | None
    shown: Appearance | None
    verdict: ReportVerdict


def judge(evidence: Evidence, suite: Suite, flags: Mapping[str, str] = MappingProxyType({})) -> Judgement:
    """Compare runs and decide what is shown of them; `flags` are further reasons why a row wins nothing, by label."""
    made = tables_of(suite, evidence.runs, flags)
    words = Vocabulary.of(suite)
    headline = made[0] if made else None
    if headline is None or not evidence.has(headline.metric):
        without = NOTHING
        if headline is not None and any(evidence.has(table.metric) for table in made):
            # As in a world without the labels that the headline asks for: what was measured is below.
            why = dict(absent_metrics(evidence)).get(headline.metric)
            support = (f"{why[0].upper()}{why[1:]}. What was measured is below.",) if why else ()
            without = ReportVerdict(f"No verdict: {words.headline or _name(headline)} was not measured.", support)
        return Judgement(made, "", True, None, None, without)
    metric, name = headline.metric, words.headline or _name(headline)
    compared = compare_by(evidence, suite, headline)
    shown = appearance(evidence) if any(table.metric == SHARPNESS for table in made) else None
    floor = suite.floor_baselines
    found = None
    if suite.claims:
        found = verdict_of_kinds(
            evidence,
            metric,
            suite.claims,
            bounds=metric_bounds(metric),
            floor=floor,
            flags=compared.flags,
            words=words,
            table=headline,
        )
    if found is None:
        found = _verdict_of_groups(evidence, suite, name, compared, shown)
    return Judgement(made, name, compared.higher, compared, shown, found)


def compare_by(evidence: Evidence, suite: Suite, table: Table) -> Comparison:
    """Compare runs by the metric of a table."""
    # As its scores say if the columns are of several metrics.
    sample = evidence.sample(table.metric) if table.betters else None
    return compare(
        evidence,
        table.metric,
        higher=(table.better if sample is None else sample.better) != "lower",
        bounds=metric_bounds(table.metric),
        flags={row.label: row.flag for row in table.rows if row.flag},
        balanced=suite.balanced_by if isinstance(suite, AnsweredSuite) else "",
        table=table,
        coverage=Coverage.of(suite, evidence.runs, table.metric),
    )


def _verdict_of_groups(
    evidence: Evidence, suite: Suite, name: str, compared: Comparison, shown: Appearance | None
) -> ReportVerdict:
    """The verdict on each group of models, beside all baselines. A headline begins with the name of its group."""
    fair = [run for run in evidence.runs if not run.privileged and run.source not in suite.floor_baselines]
    judged = [run.label for run in fair if run.kind == "model"] or [run.label for run in fair]
    memory = memory_evidence(evidence, suite, judged) if suite.claims_memory else None
    headlines: list[str] = []
    support: list[str] = []
    for group in sorted(set(compared.groups.values())) or [""]:
        runs = tuple(run for run in evidence.runs if compared.groups.get(run.label, group) == group)
        labels = [run.label for run in runs]
        found = verdict(
            replace(evidence, runs=runs),
            name,
            replace(compared, standings=tuple(one for one in compared.standings if one.label in labels)),
            shown,
            floor=suite.floor_baselines,
            claim=suite.group_claims.get(group, suite.claim),
            memory=memory,
            words=Vocabulary.of(suite),
        )
        headlines.append(f"{group[0].upper()}{group[1:]}: {found.headline}" if group else found.headline)
        support += found.support
    return ReportVerdict(" ".join(headlines), tuple(dict.fromkeys(support)))


def absent_metrics(evidence: Evidence) -> list[tuple[str, str]]:
    """(metric, reason) of metrics that no model has a value of."""
    found = []
    for metric in evidence.metrics:
        scores = [s for e in evidence.runs for s in e.by_metric.get(metric, {}).values()]
        if all(s.value is None for s in scores):
            found.append((metric, next((s.reason for s in scores if s.reason), "")))
    return found


def _name(table: Table) -> str:
    """What the page calls a table's metric: an abbreviation as such, else its title, which is of one metric only."""
    metric = table.metric
    if metric.isalpha() and len(metric) <= 5:
        return metric.upper()
    return wording.metric_name(metric) if table.betters else table.title
