"""What a model does to all colours alike is taken back; a view of something else stays as it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.policies.home_scene import CAMERA, F, L, R, Seen, imagined
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.policies.contract import ActionPlan
from worldgauge.suites.worldinworld.real_colours import RealColours
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Stance

PLANS = [ActionPlan(steps, "test") for steps in ((L, L), (R, R, R), (L,) * 8 + (F,))]
CHANGES: dict[str, Callable[[Image], Any]] = {
    "tint": lambda view: view * np.array([1.06, 1, 0.92]),
    "contrast": lambda view: (view - 128.0) * 1.12 + 146,
    "brighter": lambda view: view + 25.0,
    "darker": lambda view: view * 0.8,
}


def levels(values: Any) -> Image:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


def end(plan: ActionPlan, seen: Seen) -> Image:
    return imagined(plan, seen, view="perspective").seen(len(plan.steps))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("plan", PLANS)
def test_a_change_of_colours_is_taken_back(seen: Seen, plan: ActionPlan, change: Callable[[Image], Any]) -> None:
    true, colours = end(plan, seen), RealColours(seen)
    shown = levels(change(true))
    usual = np.median(np.abs(colours.restored(shown, CAMERA, plan).astype(float) - true))
    assert usual < 0.4 * np.median(np.abs(shown.astype(float) - true))
    assert np.median(np.abs(colours.restored(true, CAMERA, plan).astype(float) - true)) <= 3


def test_a_view_of_something_else_stays_as_it_is(seen: Seen) -> None:
    other = Home(11)
    places = other.floor.points_of(np.argwhere(other.floor.clearance_m > 0.5))
    colours, rng = RealColours(seen), np.random.default_rng(0)
    views = [rng.integers(0, 256, (128, 128, 3), dtype=np.uint8)]
    views += [other.view(Stance(*map(float, place), 0.5).eye(), CAMERA).rgb for place in places[:: len(places) // 4]]
    for view in views:
        assert np.array_equal(colours.restored(view, CAMERA, PLANS[0]), view)


def test_without_depth_a_view_stays_as_it_is(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "depth", lambda side: np.full((128, 128), np.inf))
    view = seen.front
    assert np.array_equal(RealColours(seen).restored(view, CAMERA, PLANS[0]), view)
