"""The verdict: what the data let one say, in one sentence, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldgauge.report.appearance import Appearance
from worldgauge.report.compare import Difference, Standing
from worldgauge.report.evidence import Evidence
from worldgauge.report.words import listed, number, times

MEMORYLESS = ("freeze", "noise", "mean", "replay", "forgetful")
"""References that cannot have remembered the place: copies of what was just seen, or another place."""
STAND_IN = "forgetful"


@dataclass(frozen=True)
class Verdict:
    """headline: one sentence. support: what it rests on, a few sentences."""

    headline: str
    support: tuple[str, ...]


def verdict(
    evidence: Evidence,
    metric: str,
    name: str,
    standings: Sequence[Standing],
    differences: Mapping[tuple[str, str], Difference],
    shown: Appearance | None,
    *,
    higher: bool,
) -> Verdict:
    """A model redraws the place when it beats every reference that cannot remember, each by a clear paired difference.

    differences: (a, b) -> a minus b. shown: how the frames look. Only models that saw nothing hidden are judged.
    """
    means = {s.label: s for s in standings}
    judged = [e for e in evidence.entrants if not e.privileged and e.subject not in MEMORYLESS and e.label in means]
    bar = [e.label for e in evidence.entrants if e.subject in MEMORYLESS and e.label in means]
    if not judged:
        return Verdict(_references_only(standings, name), _stand_in(evidence, means, name, shown))
    if not bar:
        best = next(s for s in standings if any(e.label == s.label for e in judged))
        words = f"{best.label} leads with {_with_interval(best, name)}"
        return Verdict(words + "; no reference was run, so what that is worth is not known.", ())
    sign = 1 if higher else -1
    passed = []
    for entrant in judged:
        pairs = [differences.get((entrant.label, other)) for other in bar]
        if all(pair is not None and pair.clear and sign * pair.mean > 0 for pair in pairs):
            passed.append(entrant.label)
    strongest = next(s for s in standings if s.label in bar)
    best = next(s for s in standings if s.label in (passed or [e.label for e in judged]))
    return Verdict(_headline([e.label for e in judged], passed), (
        _evidence_for(best, strongest, differences.get((best.label, strongest.label)), name),
        *_stand_in(evidence, means, name, shown),
    ))


def _headline(judged: Sequence[str], passed: Sequence[str]) -> str:
    count = len(judged)
    if count == 1:
        if passed:
            return f"{judged[0]} redraws the place it has seen, better than any reference that cannot remember."
        return f"{judged[0]} does not redraw the place it has seen measurably better than a reference that cannot remember."
    if not passed:
        return f"None of {count} models redraws the place it has seen measurably better than references that cannot remember."
    if len(passed) == 1:
        return f"Of {count} models only {passed[0]} redraws the place it has seen better than references that cannot remember."
    if len(passed) == count:
        return f"All {count} models redraw the place they have seen better than references that cannot remember."
    return (
        f"Of {count} models {len(passed)} redraw the place they have seen "
        f"better than references that cannot remember: {listed(passed)}."
    )


def _evidence_for(best: Standing, bar: Standing, pair: Difference | None, name: str) -> str:
    words = (
        f"{best.label} has {_with_interval(best, name)} over {times(best.n, 'trajectory', 'trajectories')}; "
        f"the strongest reference without memory, {bar.label}, has {number(bar.mean)}"
    )
    if pair is None:
        return words + "; they share no trajectory."
    reach = f", 95% interval {number(pair.low)} to {number(pair.high)}" if pair.low is not None else ""
    return f"{words}. Paired difference {number(pair.mean, sign=True)}{reach}."


def _stand_in(
    evidence: Evidence, means: Mapping[str, Standing], name: str, shown: Appearance | None
) -> tuple[str, ...]:
    """Looks and memory are two things: said with the numbers of the reference made to show it."""
    entrant = next((e for e in evidence.entrants if e.subject == STAND_IN and e.label in means), None)
    if entrant is None:
        return ()
    score = f"has {name} {number(means[entrant.label].mean)}"
    ratio = shown.mean(entrant.label) if shown is not None and shown.relative else None
    if ratio is None:
        return (f"{entrant.label}, which draws another place as well as the truth is drawn, {score}.",)
    return (f"{entrant.label} draws another place, {number(ratio, digits=2)} times as sharp as the truth, and {score}.",)


def _references_only(standings: Sequence[Standing], name: str) -> str:
    if not standings:
        return "Nothing was scored."
    first, last = standings[0], standings[-1]
    return (
        f"References only: from {last.label} ({name} {number(last.mean)}) to {first.label} ({number(first.mean)}); "
        "no model under test was run."
    )


def _with_interval(standing: Standing, name: str) -> str:
    reach = f" [{number(standing.low)}, {number(standing.high)}]" if standing.low is not None else ""
    return f"{name} {number(standing.mean)}{reach}"
