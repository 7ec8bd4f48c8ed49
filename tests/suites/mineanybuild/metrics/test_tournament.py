"""Votes: tournaments of the reference, the pairing checked by its definition, scores, invariances, edges."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.metrics.scores import Tournament, swiss, voting_scores


def comparator(spec: dict[str, Any]) -> Callable[[str, str], bool]:
    if spec["kind"] == "always":
        return lambda upper, lower: spec["choice"] == 1
    if spec["kind"] == "strength":
        return lambda upper, lower: spec["strength"][upper] >= spec["strength"][lower]
    assert spec["kind"] == "cycle"
    place, n = {agent: k for k, agent in enumerate(spec["ids"])}, spec["n"]
    return lambda upper, lower: (place[lower] - place[upper]) % n <= (n - 1) // 2


@pytest.mark.parametrize("case", cases("build_voting", "cases"))
def test_tournaments_of_the_reference(case: dict[str, Any]) -> None:
    found, expected = swiss(case["ids"], case["rounds"], comparator(case["comparator"])), case["expect"]
    assert [[list(duel) for duel in duels] for duels in found.rounds] == expected["rounds"]
    assert [[agent, found.points[agent]] for agent in found.ranking] == expected["ranking"]
    assert voting_scores(found.points) == pytest.approx(expected["voting_score"], abs=1e-6)


def test_three_agents_by_hand() -> None:
    """c beats all, b beats a. Round 1: a-b, c sits out. Round 2: b (1), c (0), a (-1): b-c. Round 3: c-a, then none."""
    found = swiss(["c", "a", "b"], 9, lambda upper, lower: upper > lower)
    assert found.rounds == ((("a", "b", 2),), (("b", "c", 2),), (("c", "a", 1),))
    assert found.points == {"a": -2, "b": 0, "c": 2}
    assert voting_scores(found.points) == {"a": 3.0, "b": 5.5, "c": 8.0}


def replay(ids: list[str], found: Tournament) -> dict[str, int]:
    """Independent: check each round for a pair that should have been taken instead. The points that follow."""
    points, met = dict.fromkeys(ids, 0), set()
    for duels in found.rounds:
        standing = {agent: k for k, agent in enumerate(sorted(ids, key=lambda one: (-points[one], one)))}
        free, taken = set(ids), [duel[:2] for duel in duels]
        for upper in sorted(ids, key=standing.__getitem__):
            if upper not in free:
                continue
            free.discard(upper)
            possible = [one for one in free if standing[one] > standing[upper] and frozenset((upper, one)) not in met]
            pairs = [pair for pair in taken if pair[0] == upper]
            if not possible:
                assert not pairs
                continue
            assert pairs == [(upper, min(possible, key=standing.__getitem__))]
            free.discard(pairs[0][1])
        for upper, lower, choice in duels:
            met.add(frozenset((upper, lower)))
            points[upper] += 1 if choice == 1 else -1
            points[lower] -= 1 if choice == 1 else -1
    return points


AGENTS = st.lists(st.sampled_from([f"m{k}" for k in range(13)]), unique=True, min_size=1)


@given(AGENTS, st.integers(0, 20), st.randoms(use_true_random=False))
def test_pairs_are_those_of_the_definition(ids: list[str], rounds: int, rng: Any) -> None:
    wins: dict[tuple[str, str], bool] = {}
    found = swiss(ids, rounds, lambda upper, lower: wins.setdefault((upper, lower), rng.random() < 0.5))
    assert found.points == replay(ids, found)
    assert sum(found.points.values()) == 0
    assert len(wins) == sum(map(len, found.rounds)), "no pair meets twice"
    if len(found.rounds) < rounds and len(ids) > 1:
        last = {frozenset(duel[:2]) for duels in found.rounds for duel in duels}
        assert len(last) == len(ids) * (len(ids) - 1) // 2, "it ends early only when all have met"
    scores = voting_scores(found.points)
    assert all(3 <= score <= 8 for score in scores.values())
    order = sorted(ids, key=lambda one: (-scores[one], one))
    assert tuple(order) == found.ranking


@given(AGENTS, st.integers(0, 6), st.randoms(use_true_random=False))
def test_the_order_of_the_list_does_not_matter(ids: list[str], rounds: int, rng: Any) -> None:
    shuffled = list(ids)
    rng.shuffle(shuffled)

    def stronger(upper: str, lower: str) -> bool:
        return sum(map(ord, upper)) % 7 >= sum(map(ord, lower)) % 7

    one, other = swiss(ids, rounds, stronger), swiss(shuffled, rounds, stronger)
    assert (one.rounds, dict(one.points), one.ranking) == (other.rounds, dict(other.points), other.ranking)


@given(st.dictionaries(st.text(max_size=3), st.integers(-9, 9), min_size=1), st.integers(-5, 5))
def test_scores_do_not_change_when_all_have_more(points: dict[str, int], more: int) -> None:
    moved = {agent: own + more for agent, own in points.items()}
    assert voting_scores(moved) == pytest.approx(voting_scores(points))


def test_edges() -> None:
    assert swiss([], 3, lambda upper, lower: True) == Tournament((), {}, ())
    assert voting_scores({"a": 4}) == {"a": 5.5}
    with pytest.raises(UsageError, match="distinct"):
        swiss(["a", "a"], 1, lambda upper, lower: True)
    with pytest.raises(UsageError, match="-1 rounds"):
        swiss(["a", "b"], -1, lambda upper, lower: True)
    with pytest.raises(UsageError, match="without agents"):
        voting_scores({})
