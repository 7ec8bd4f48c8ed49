"""What a data set can show, next to noncentral t of scipy and to simulated comparisons."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t

from worldgauge.core.paired_tests import LARGE_EFFECT, MOST_MODELS, power_of


def share_found(effect: float, clusters: float, tests: int) -> float:
    """How often Student's test at 0.05 / tests finds an effect, in standard deviations."""
    return float(nct.sf(t.ppf(1 - 0.025 / tests, clusters - 1), clusters - 1, effect * math.sqrt(clusters)))


@pytest.mark.parametrize(("clusters", "models"), [(6, 3), (8, 6), (12, 28)])
def test_models_that_equal_clusters_can_order(clusters: int, models: int) -> None:
    names = [f"{place % clusters}" for place in range(4 * clusters)]
    assert power_of(names).models == models
    assert share_found(LARGE_EFFECT, clusters, models * (models - 1) // 2) >= 0.8
    assert share_found(LARGE_EFFECT, clusters, models * (models + 1) // 2) < 0.8


def test_the_effect_of_a_run_is_found_in_four_of_five_simulated_comparisons() -> None:
    power = power_of(map(str, range(8)), tests=11)
    assert power.effect is not None
    scores = np.random.default_rng(0).normal(power.effect, 1, (20_000, 8))
    ratio = scores.mean(1) / scores.std(1, ddof=1) * math.sqrt(8)
    assert np.mean(ratio >= t.ppf(1 - 0.025 / 11, 7)) == pytest.approx(0.8, abs=0.01)
    assert str(power) == (
        "Power: 8 clusters can order 6 models that differ by 2 standard deviations; "
        "11 tests find differences of 1.8 with 80 % power."
    )


@pytest.mark.parametrize("clusters", [0, 1, 5])
def test_too_few_clusters(clusters: int) -> None:
    power = power_of((f"{place % clusters}" for place in range(10 * clusters)), tests=1)
    assert (power.clusters, power.models, power.effect) == (clusters, 0, None)
    assert str(power).endswith(" cannot order models. A test needs 6.")


def test_unequal_sizes_cost_power() -> None:
    # One of them holds 10 of 17 tasks, so they count as 17^2 / (10^2 + 7) = 2.7 clusters.
    power = power_of(["large"] * 10 + [f"{place}" for place in range(7)], tests=1)
    assert (power.clusters, power.models) == (8, 0)
    assert power.effect is not None
    assert share_found(power.effect, 17**2 / 107, 1) == pytest.approx(0.8, abs=0.001)
    assert str(power) == (
        "Power: 8 clusters of very unequal sizes cannot order models; "
        "one test finds differences of 4.1 with 80 % power."
    )


def test_nobody_compares_more_than_the_largest_number() -> None:
    power = power_of(map(str, range(30)))
    assert power.models == MOST_MODELS
    assert str(power) == "Power: 30 clusters can order 50 or more models that differ by 2 standard deviations."
