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

    differences: (a, b) -> a minus b. shown: how the frames look. Models under
    test are judged, or references that saw nothing hidden where none was run.
    """
    means = {s.label: s for s in standings}
    if not means:
        return Verdict("Nothing was scored.", ())
    fair = [e for e in evidence.entrants if not e.privileged and e.source not in MEMORYLESS and e.label in means]
    tested = [e.label for e in fair if e.kind == "subject"]
    yardsticks = [e.label for e in fair if e.kind == "reference"]
    bar = [e.label for e in evidence.entrants if e.source in MEMORYLESS and e.label in means]
    judged = tested or yardsticks
    ranked = [s.label for s in standings]
    best = means[min(judged, key=ranked.index)] if judged else standings[0]
    if not judged or not bar:
        words = f"{best.label} leads with {_with_interval(best, name)}"
        missing = "no model under test was run" if not judged else "no reference without memory was run beside it"
        return Verdict(f"{words}; {missing}.", _stand_in(evidence, means, name, shown))
    sign = 1 if higher else -1
    passed = []
    for label in judged:
        pairs = [differences.get((label, other)) for other in bar]
        if all(pair is not None and pair.clear and sign * pair.mean > 0 for pair in pairs):
            passed.append(label)
    if passed:
        best = means[min(passed, key=ranked.index)]
    strongest = means[min(bar, key=ranked.index)]
    support = [_evidence_for(best, strongest, differences.get((best.label, strongest.label)), name)]
    if tested and yardsticks:
        yardstick = means[min(yardsticks, key=ranked.index)]
        support.append(
            f"The reference {yardstick.label}, which keeps what it was shown, has {_with_interval(yardstick, name)}."
        )
    if not tested:
        seeing = [e.label for e in evidence.entrants if e.privileged and e.source not in MEMORYLESS]
        tail = (
            f"; {listed(seeing)}, shown what is hidden, {'is' if len(seeing) == 1 else 'are'} not judged"
            if seeing
            else ""
        )
        support.append(f"All are references, no model under test was run{tail}.")
    headline = _headline(tested, passed) if tested else _headline_of_references(passed, bar)
    return Verdict(headline, (*support, *_stand_in(evidence, means, name, shown)))


def _headline(tested: Sequence[str], passed: Sequence[str]) -> str:
    count = len(tested)
    bar = "better than references that cannot remember"
    if count == 1:
        if passed:
            return f"{tested[0]} redraws the place it has seen, {bar}."
        return f"{tested[0]} does not redraw the place it has seen measurably {bar}."
    if not passed:
        who = "Neither of 2 models" if count == 2 else f"None of {count} models"
        return f"{who} redraws the place it has seen measurably {bar}."
    if len(passed) == 1:
        return f"Of {count} models only {passed[0]} redraws the place it has seen {bar}."
    if len(passed) == count:
        return f"{'Both' if count == 2 else f'All {count}'} models redraw the place they have seen {bar}."
    return f"Of {count} models {len(passed)} redraw the place they have seen {bar}: {listed(passed)}."


def _headline_of_references(passed: Sequence[str], bar: Sequence[str]) -> str:
    if not passed:
        return f"References only, and none redraws the place it has seen measurably better than {listed(bar)}."
    verb = "redraws the place it has" if len(passed) == 1 else "redraw the place they have"
    return f"Only {listed(passed)} {verb} seen; {listed(bar)} {'does' if len(bar) == 1 else 'do'} not."


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
    entrant = next((e for e in evidence.entrants if e.source == STAND_IN and e.label in means), None)
    if entrant is None:
        return ()
    score = f"has {name} {number(means[entrant.label].mean)}"
    ratio = shown.mean(entrant.label) if shown is not None and shown.relative else None
    if ratio is None:
        return (f"{entrant.label}, which draws another place as well as the truth is drawn, {score}.",)
    return (
        f"{entrant.label} draws another place, {number(ratio, digits=2)} times as sharp as the truth, and {score}.",
    )


def _with_interval(standing: Standing, name: str) -> str:
    reach = f" [{number(standing.low)}, {number(standing.high)}]" if standing.low is not None else ""
    return f"{name} {number(standing.mean)}{reach}"
