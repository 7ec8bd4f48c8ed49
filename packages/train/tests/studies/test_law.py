"""The law over the number of clips: by hand, against numpy, invariances, and what cannot be fitted."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge_train.study_findings import fit_law


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def trainings(
    seeds: int = 3, tasks: int = 12, slope: float = -2.0, luck: int = 7
) -> dict[int, list[dict[str, float | None]]]:
    """Values of made-up trainings: each task has a level of its own, each training its luck."""
    draw = np.random.default_rng(luck)
    level = draw.normal(0, 5, tasks)
    found: dict[int, list[dict[str, float | None]]] = {}
    for count in (4, 16, 64):
        found[count] = []
        for _ in range(seeds):
            noise = draw.normal(0, 0.2) + draw.normal(0, 0.1, tasks)
            found[count].append({f"t{k}": 40 + slope * np.log10(count) + level[k] + noise[k] for k in range(tasks)})
    return found


def test_by_hand() -> None:
    # One task, 1 and 100 clips: from 3 to 7 in two tens, so a = 3 and b = 2.
    law = fit_law({1: [{"t": 3.0}], 100: [{"t": 7.0}]}, {}, rng=rng())
    assert law is not None
    assert (law.a, law.b) == pytest.approx((3.0, 2.0))
    assert law.interval is None, "one task tells nothing of others"
    assert (law.counts, law.seeds, law.tasks, law.clusters) == (2, 1, 1, 1)


def test_agrees_with_numpy() -> None:
    made = trainings()
    law = fit_law(made, {}, rng=rng())
    assert law is not None
    x = [np.log10(count) for count, own in made.items() for _ in own]
    y = [np.mean([value for value in one.values() if value is not None]) for own in made.values() for one in own]
    b, a = np.polyfit(x, y, 1)
    assert (law.a, law.b) == pytest.approx((a, b))
    assert law.interval is not None
    assert law.interval.low < law.b < law.interval.high < 0


def test_its_interval_holds_the_slope_that_made_the_values() -> None:
    inside = 0
    for luck in range(60):
        law = fit_law(trainings(luck=luck), {}, rng=rng(), n=200)
        assert law is not None
        assert law.interval is not None
        inside += law.interval.low < -2.0 < law.interval.high
    assert inside >= 51, "of 60, 57 are meant"


def test_the_order_of_tasks_and_trainings_is_nothing_and_units_scale() -> None:
    made = trainings()
    turned = {
        count: [dict(reversed([*one.items()])) for one in reversed(own)] for count, own in reversed([*made.items()])
    }
    scaled = {
        count: [{task: None if value is None else 3 * value + 1 for task, value in one.items()} for one in own]
        for count, own in made.items()
    }
    law, same, other = (fit_law(one, {}, rng=rng()) for one in (made, turned, scaled))
    assert law is not None
    assert same is not None
    assert other is not None
    assert (same.a, same.b) == pytest.approx((law.a, law.b))
    assert (other.a, other.b) == pytest.approx((3 * law.a + 1, 3 * law.b))
    assert law.interval is not None
    assert other.interval == pytest.approx((3 * law.interval.low, 3 * law.interval.high))


def test_tasks_of_one_scene_are_drawn_together() -> None:
    made = trainings(tasks=12)
    # Half of the tasks gain nothing: if they are one scene, the slope is far less certain.
    for count, own in made.items():
        for one in own:
            one.update({f"t{k}": 40 + (0.0 if k < 6 else -4.0 * np.log10(count)) for k in range(12)})
    alone = fit_law(made, {}, rng=rng())
    scenes = fit_law(made, {f"t{k}": "a" if k < 6 else "b" for k in range(12)}, rng=rng())
    assert alone is not None
    assert scenes is not None
    assert alone.interval is not None
    assert scenes.interval is not None
    assert scenes.clusters == 2
    assert scenes.interval.high - scenes.interval.low > alone.interval.high - alone.interval.low


def test_what_is_missing_is_left_out_everywhere() -> None:
    made = trainings()
    made[16][1]["t3"] = None
    made[64][0]["t4"] = float("inf")
    law = fit_law(made, {}, rng=rng())
    assert law is not None
    assert law.tasks == 10
    assert fit_law({4: [{"t": 1.0}]}, {}, rng=rng()) is None
    assert fit_law({4: [{"a": 1.0}], 8: [{"b": 1.0}]}, {}, rng=rng()) is None
    assert fit_law({}, {}, rng=rng()) is None
    with pytest.raises(ShapeError, match="from 1 on"):
        fit_law({0: [{"t": 1.0}], 8: [{"t": 1.0}]}, {}, rng=rng())
    with pytest.raises(ShapeError, match="as many trainings"):
        fit_law({4: [{"t": 1.0}], 8: [{"t": 1.0}, {"t": 2.0}]}, {}, rng=rng())
