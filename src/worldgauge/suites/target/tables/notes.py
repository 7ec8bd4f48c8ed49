"""What is said under the tables: who is missing and why, what must not be compared, what a number cannot show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.tables import resolution_note
from worldgauge.perception.decoders.crosscheck import DOUBTED
from worldgauge.suites.target.baselines import NAMES
from worldgauge.suites.target.metrics.waypoints import PROFILES
from worldgauge.suites.target.tables.entries import Entry


def notes_of(heads: Mapping[str, Sequence[Score]], entries: Sequence[Entry], kinds: Mapping[str, str]) -> Iterator[str]:
    """Lines under the leaderboard. heads: headline scores of each subject; entries: the rows made of them."""
    subjects = [entry for entry in entries if entry.label in heads]
    told = [score.facts for own in heads.values() for score in own]
    yield from _lost(subjects)
    yield from _uncertain(told)
    if not any(label.startswith(("truth", "gt_video")) for label in heads):
        yield "The row of the true video is missing, which shows what the decoder costs: add --model truth."
    for what in ("decoder", "profile"):
        if len({fact[what] for fact in told}) > 1:
            yield f"These rows were made with different {what}s and must not be compared."
    yield from _lent(heads, kinds)
    yield f"{', '.join(NAMES)} need no video: the true path itself, no motion, and the history's speed straight on."
    if len(subjects) > 1:
        values = {
            entry.label: {line.task: line.values["overall"] for line in entry.lines if line.values}
            for entry in subjects
        }
        yield resolution_note(values, "scenarios")


def weights_notes(profiles: Iterable[str]) -> Iterator[str]:
    """That a perfect path does not score 1, for profiles whose weights do not add up to it."""
    sums = {round(sum(PROFILES[name].weights), 9) for name in profiles}
    for total in sorted(sums - {1.0}):
        yield f"The weights of the overall score add up to {total:.2f}: no path scores 1."


def is_doubted(fact: Mapping[str, Any]) -> bool:
    """Whether the second decoder sees another path in the video of a scored one, or none. fact: of its headline."""
    return bool(fact["xy"]) and fact["diagnostics"].get("cross_check") in DOUBTED


def listed(names: Iterable[str]) -> str:
    """Each name once: "aligned and released"."""
    return " and ".join(sorted(set(names))) or "none"


def _lost(subjects: Sequence[Entry]) -> Iterator[str]:
    """How many answers there should be, and why some have no path."""
    expected = sum(len(entry.lines) for entry in subjects)
    lost = [line for entry in subjects for line in entry.lines if line.values is None]
    yield f"{expected} answers expected = {expected - len(lost)} paths scored + {len(lost)} without a path."
    alike: dict[str, list[str]] = {}
    for line in lost:
        alike.setdefault(_DETAIL.sub("#", line.why), []).append(_short(line.why))
    for reasons in alike.values():
        yield f"{len(reasons)} without: {reasons[0]}{', and alike' if len(set(reasons)) > 1 else ''}."


def _uncertain(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Paths that are scored and may not be what the video shows."""
    partial = sum(fact["status"] == "partial" for fact in told)
    if partial:
        yield f"{partial} scored paths are only a part of what their video shows."
    doubted = sum(is_doubted(fact) for fact in told)
    if doubted:
        yield (
            f"{doubted} scored paths are doubted: a second decoder sees another path in the same video, or none. "
            "They count; look at them."
        )
    fallen = Counter(fact["diagnostics"].get("decoder_used", fact["decoder"]) for fact in told if fact["xy"])
    for name, count in sorted(fallen.items()):
        if name not in {fact["decoder"] for fact in told}:
            yield f"{count} paths were found by the fallback {name}."


def _lent(heads: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> Iterator[str]:
    """Who was led along a planner's path."""
    driven = {
        label: sorted({str(score.facts["planner"]) for score in own if _led(score, kinds[label])})
        for label, own in heads.items()
    }
    if any(driven.values()):
        lent = "; ".join(f"{label}: {', '.join(names)}" for label, names in driven.items() if names)
        yield (
            "Models that cannot read were lent the path of a planner; their rows test how well they follow it, not how "
            f"well they plan ({lent})."
        )


def _led(score: Score, kind: str) -> bool:
    """Whether a planner's path made the video: references that take actions do nothing with them here."""
    return score.facts["planner"] is not None and (score.facts["control"] == "camera" or kind == "subject")


_DETAIL = re.compile(r"\S*/\S*|\S+_custom_segment_\S+|\d+(\.\d+)?")
"""Files, scenarios and numbers, in which reasons of one kind differ."""


def _short(why: str) -> str:
    """A reason that fits a line."""
    text = why.removeprefix("scoring: ").rstrip(".")
    return text if len(text) <= 120 else text[:117] + "..."
