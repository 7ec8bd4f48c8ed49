"""What runs show of memory: floors beaten in a metric of memory, and the decoy test (`engine.suite.decoy`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldgauge.core.english import listed
from worldgauge.core.intervals import LEVEL
from worldgauge.core.paired_tests import PairedDifferences, holm, paired_differences
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.decoy import ARMS, main_id
from worldgauge.metrics._registry import metric_bounds
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.wording import digits_for, number

LEAST_SHARE = 0.25
"""Share of the difference between the arms below which a lead of a floor baseline over the arm "other" is not a loss.
A sharp picture of a wrong place loses a little to a blur or to another wrong place, in which horizons fit by chance.
A model that plays dumb loses as much as it gains."""
Values = Mapping[str, float]


@dataclass(frozen=True)
class MemoryEvidence:
    """What the data show of a model's memory: what a claim is `lacking`, and a `line` on the decoy test, if it ran."""

    lacking: tuple[str, ...]
    line: str = ""


def memory_evidence(evidence: Evidence, suite: Suite, labels: Sequence[str]) -> dict[str, MemoryEvidence]:
    """What the data show of each model. p-values of all models and metrics are corrected together."""
    floors = [run for run in evidence.runs if run.source in suite.floor_baselines]
    absent = [one for one in suite.floor_baselines if one not in {run.source for run in floors}]
    tests = {
        (label, metric): _Tests.of(evidence, metric, label, floors)
        for label in labels
        for metric in suite.memory_metrics
    }
    corrected = iter(holm([p for one in tests.values() for p in one.p_values]))
    found = {}
    for label in labels:
        own = [tests[label, metric] for metric in suite.memory_metrics]
        judged = [
            one.judged(name, [next(corrected) for _ in one.p_values])
            for one, name in zip(own, suite.memory_metrics.values(), strict=True)
        ]
        best = min(judged, key=lambda one: len(one.lacking), default=MemoryEvidence(("no metric of memory is known",)))
        why = [f"{listed(absent)} {'was' if len(absent) == 1 else 'were'} not run with it"] if absent else []
        found[label] = MemoryEvidence((*why, *best.lacking), best.line)
    return found


@dataclass(frozen=True)
class _Tests:
    """The tests of one model in one metric: against each floor baseline, then arm against arm."""

    run: ComparedRun
    metric: str
    floors: Sequence[ComparedRun]
    arms: Sequence[Values]
    differences: PairedDifferences
    clusters: Mapping[str, str]

    @classmethod
    def of(cls, evidence: Evidence, metric: str, label: str, floors: Sequence[ComparedRun]) -> _Tests:
        """The differences of one model."""
        run, clusters = evidence[label], evidence.clusters
        arms = [
            {main_id(s.task): s.value for s in run.arms if s.metric == f"{arm}/{metric}" and s.value is not None}
            for arm in ARMS
        ]
        rows = [run.values(metric), *arms, *(floor.values(metric) for floor in floors)]
        pairs = [(0, 3 + place) for place in range(len(floors))] + [(1, 2)]
        bounds = metric_bounds(metric)
        differences = paired_differences(rows, cluster=clusters, pairs=pairs, bounds=bounds)
        return cls(run, metric, floors, arms, differences, clusters)

    @property
    def p_values(self) -> list[float | None]:
        """p-value of each test; None where there is none."""
        return [None if math.isnan(p) else p for p in self.differences.p.tolist()]

    def judged(self, name: str, corrected: Sequence[float | None]) -> MemoryEvidence:
        """What the corrected tests show. name: of the metric, in a sentence."""
        better = [
            p is not None and p <= 1 - LEVEL and mean > 0
            for p, mean in zip(corrected, self.differences.mean.tolist(), strict=True)
        ]
        unbeaten = [floor.label for floor, beats in zip(self.floors, better[:-1], strict=True) if not beats]
        who = listed(unbeaten) if len(unbeaten) < len(self.floors) else "any floor baseline"
        why = [f"it is not measurably better than {who} in {name}"] if unbeaten else []
        if (absent := self._absent()) is not None:
            return MemoryEvidence((*why, absent))
        if not better[-1]:
            why.append("its answers after frames of the place are not measurably better than after frames of another")
        elif (floor := self._worse_than()) is not None:
            why.append(f"not decided, since after frames of another place it is worse than {floor} and may play dumb")
        return MemoryEvidence(tuple(why), self._line(name))

    def _absent(self) -> str | None:
        """Why there is no decoy test."""
        if self.differences.n[-1]:
            return None
        keys = self.run.facts.get("decoy_keys")
        if keys is None:
            return "it was run without the decoy test"
        if keys:
            return "the rollouts of its decoy test have no scores"
        if self.run.source == "videos":
            return "finished videos cannot take the decoy test"
        return "it has no decoy test, without two places of the same kind or more context than the last second"

    def _worse_than(self) -> str | None:
        """The best floor baseline on the same tasks if the arm "other" is clearly worse by more than a little."""
        other = self.arms[1]
        means = {
            floor.label: sum(values[task] for task in other) / len(other)
            for floor in self.floors
            if (values := floor.values(self.metric)).keys() >= other.keys()
        }
        if not means:
            return None
        best = max(means, key=means.__getitem__)
        values = next(floor.values(self.metric) for floor in self.floors if floor.label == best)
        found = paired_differences([values, other], cluster=self.clusters, bounds=metric_bounds(self.metric))
        loss, gain = float(found.mean[0]), float(self.differences.mean[-1])
        return best if found.p[0] <= 1 - LEVEL and loss > LEAST_SHARE * gain else None

    def _line(self, name: str) -> str:
        """The two arms, their difference, its interval, and what they cost."""
        means = [sum(arm.values()) / len(arm) for arm in self.arms]
        found, digits = self.differences, digits_for(means)
        low, high = found.low[-1], found.high[-1]
        reach = "" if math.isnan(low) else f" [{number(low, digits=digits)}, {number(high, digits=digits)}]"
        after = [number(mean, digits=digits) for mean in means]
        return (
            f"Decoy test of {self.run.label}, {name}: {after[0]} after frames of the same place, {after[1]} after "
            f"frames of another; difference {number(found.mean[-1], digits=digits)}{reach}, n = {found.n[-1]} in "
            f"{found.clusters[-1]} clusters; {len(self.run.facts['decoy_keys'])} rollouts."
        )
