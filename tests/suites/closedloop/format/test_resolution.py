"""What a set can tell apart: by the formula of independent pairs, by simulated tests, and in degenerate sets."""

import math

import numpy as np
import pytest

from worldgauge.core.paired import paired_difference
from worldgauge.suites.closedloop.format.check import episodes_wanted, resolvable_points


def test_a_scene_an_episode_is_the_formula_of_independent_pairs() -> None:
    # (1.984 + 0.845) x 100 x sqrt((0.2 - 0.1^2) / 99), with Student's quantiles of 99 degrees of freedom
    assert resolvable_points(range(100), 0.2) == pytest.approx(12.4, abs=0.05)
    assert resolvable_points(range(400), 0.2) == pytest.approx(280.2 * math.sqrt(0.19 / 400), rel=0.02)


def test_four_times_the_episodes_or_a_quarter_of_the_discordance_resolve_half() -> None:
    once = resolvable_points([n % 20 for n in range(100)], 0.2)
    assert once is not None
    assert resolvable_points([n % 20 for n in range(400)], 0.2) == pytest.approx(once / 2, rel=0.12)
    assert resolvable_points([n % 20 for n in range(100)], 0.05) == pytest.approx(once / 2, rel=0.15)


def test_the_paired_test_finds_such_a_difference_in_four_of_five_runs() -> None:
    scenes, discordance = [n % 20 for n in range(100)], 0.3
    points = resolvable_points(scenes, discordance)
    assert points is not None
    rng, found, runs = np.random.default_rng(5), 0, 120
    up = (discordance + points / 100) / 2
    for _ in range(runs):
        drawn = 100.0 * rng.choice([1, -1, 0], 100, p=[up, discordance - up, 1 - discordance])
        one = {str(n): float(value) for n, value in enumerate(drawn)}
        told = paired_difference(
            one, dict.fromkeys(one, 0.0), cluster={str(n): str(scene) for n, scene in enumerate(scenes)}
        )
        found += told.p is not None and told.p < 0.05
    assert 0.65 < found / runs < 0.95


def test_one_scene_tells_nothing_and_a_handful_next_to_nothing() -> None:
    assert resolvable_points([], 0.2) is None
    assert resolvable_points([1] * 50, 0.2) is None
    assert resolvable_points([1, 1, 2, 2], 0.9) == 100.0


@pytest.mark.parametrize("discordance", [0.18, 0.24])
@pytest.mark.parametrize("homes", [20, 100])
def test_the_number_of_episodes_that_is_told_resolves_what_is_wanted(discordance: float, homes: int) -> None:
    resolves = resolvable_points([n % homes for n in range(100)], discordance)
    wanted = episodes_wanted(100, resolves)
    assert wanted is not None
    homes = homes * wanted // 100
    assert resolvable_points([n % homes for n in range(wanted)], discordance) == pytest.approx(10, abs=0.6)


def test_who_resolves_enough_or_is_not_known_is_told_no_number() -> None:
    assert episodes_wanted(100, 20.0) == 400, "by hand: half the difference takes four times as many"
    assert episodes_wanted(101, 20.0) == 410
    assert episodes_wanted(100, 10.0) is episodes_wanted(100, None) is None
