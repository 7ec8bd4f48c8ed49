"""Votes on builds for the same brief: a Swiss tournament between agents, and scores of their ranks.

Source: MineAnyBuild, section 3.3 and algorithm 1. Its greedy pairing is part of the definition: who meets whom changes
who wins, so it is not replaced by an optimal matching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric

LOWEST, RANGE = 3.0, 5.0
"""The last gets 3 points, the first 8."""
EVEN = 5.5
"""For all agents if all are equal; the paper divides by zero there."""


class Duel(NamedTuple):
    """A comparison of two agents.

    Attributes:
        upper: Id of the higher ranked one, shown first.
        lower: Id of the other.
        choice: 1 or 2.
    """

    upper: str
    lower: str
    choice: int


@dataclass(frozen=True)
class Tournament:
    """Result of a tournament.

    Attributes:
        rounds: Duels of each round, in the order played.
        points: Wins minus losses of each agent.
        ranking: Ids, the best first; equal points by id, as plain strings.
    """

    rounds: tuple[tuple[Duel, ...], ...]
    points: Mapping[str, int]
    ranking: tuple[str, ...]


def swiss(ids: Sequence[str], rounds: int, first_wins: Callable[[str, str], bool]) -> Tournament:
    """Play up to `rounds` rounds between agents, fewer when all that could meet have met.

    Args:
        ids: Agents, distinct.
        rounds: Most rounds.
        first_wins: (upper, lower) -> whether the upper one's build is better; called once per duel, in the order
            played. The upper one comes first: a judge with a bias for positions favours the leader, so ask it twice in
            swapped order.

    Raises:
        UsageError: For ids that are not distinct and a negative number of rounds.
    """
    if len(set(ids)) != len(ids):
        raise UsageError(f"agents of a vote have distinct ids, got {sorted(ids)}")
    if rounds < 0:
        raise UsageError(f"a vote of {rounds} rounds cannot be")
    points = dict.fromkeys(ids, 0)
    met: dict[str, set[str]] = {agent: set() for agent in ids}
    played: list[tuple[Duel, ...]] = []
    for _ in range(rounds):
        pairs = _pairs(_ranked(points), met)
        if not pairs:
            break
        duels = []
        for upper, lower in pairs:
            won = first_wins(upper, lower)
            points[upper] += 1 if won else -1
            points[lower] += -1 if won else 1
            met[upper].add(lower)
            met[lower].add(upper)
            duels.append(Duel(upper, lower, 1 if won else 2))
        played.append(tuple(duels))
    return Tournament(tuple(played), points, tuple(_ranked(points)))


@metric(
    "build_voting",
    unit="points",
    better="higher",
    bounds=(3.0, 8.0),
    version=1,
    source="MineAnyBuild, 3.3, algorithm 1",
)
def voting_scores(points: Mapping[str, int]) -> dict[str, float]:
    """Return points of a tournament as scores: 3 for the fewest, 8 for the most, 5.5 for all if all are equal.

    Raises:
        UsageError: Without any agent.
    """
    if not points:
        raise UsageError("a vote without agents has no scores")
    fewest, most = min(points.values()), max(points.values())
    if fewest == most:
        return dict.fromkeys(points, EVEN)
    return {agent: LOWEST + RANGE * (own - fewest) / (most - fewest) for agent, own in points.items()}


def _ranked(points: Mapping[str, int]) -> list[str]:
    return sorted(points, key=lambda agent: (-points[agent], agent))


def _pairs(ranked: Sequence[str], met: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """From the top down, each with the nearest below that is free and that it has not met; some may sit out."""
    used: set[str] = set()
    pairs = []
    for place, upper in enumerate(ranked):
        if upper in used:
            continue
        lower = next((one for one in ranked[place + 1 :] if one not in used and one not in met[upper]), None)
        if lower is not None:
            used |= {upper, lower}
            pairs.append((upper, lower))
    return pairs
