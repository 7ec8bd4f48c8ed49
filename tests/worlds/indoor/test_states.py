"""States of things in homes: named, various, and there to be seen."""

import itertools
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.furniture import STATES, function_of
from worldgauge.worlds.indoor.homes import CATEGORIES, HomeObject

HOMES = range(14)
CAMERA = Camera.from_horizontal_fov(96, 96, 90)


@cache
def home(seed: int) -> Home:
    return Home(seed)


def look(world: Home, thing: HomeObject) -> tuple[np.ndarray, np.ndarray] | None:
    """Colours (96, 96, 3) and mask (96, 96) of a thing from the near free place that shows most of it."""
    free = world.floor.points_of(np.argwhere(world.floor.clearance_m > 0.12))
    centre = (np.array(thing.low) + thing.high) / 2
    near = free[np.argsort(np.abs(np.hypot(*(free - centre[:2]).T) - 1.4), kind="stable")[:120:6]]
    best = None
    for place in near:
        ahead = centre - (*place, 1.0)
        pitch = np.arctan2(ahead[2], np.hypot(*ahead[:2]))
        view = world.view(pose_from_yaw_pitch((*place, 1.0), np.arctan2(ahead[1], ahead[0]), pitch), CAMERA)
        mask = view.instance == thing.instance
        if best is None or mask.sum() > best[1].sum():
            best = view.rgb, mask
    return best if best is not None and best[1].sum() > 30 else None


def test_things_have_states_and_functions() -> None:
    found = defaultdict(set)
    for seed in HOMES:
        for thing in home(seed).objects:
            if thing.state:
                found[thing.name].add(thing.state)
            assert (thing.state != "") == (thing.name in STATES), thing
    assert {name: set(states) for name, states in STATES.items()} == dict(found)
    # Things have functions.
    for seed in HOMES:
        for thing in home(seed).objects:
            assert thing.function.startswith("to ") or thing.category in ("picture", "plant"), thing
    assert function_of("seating", "armchair") == function_of("sofa", "sofa") == "to sit on"
    assert function_of("appliances", "fridge") != function_of("appliances", "oven")
    assert not function_of("picture", "picture")
    assert {"floor", "wall", "ceiling"} < set(CATEGORIES)


@pytest.mark.parametrize(
    ("name", "brighter"), [("floor lamp", "on"), ("table lamp", "on"), ("television", "on"), ("ceiling lamp", "on")]
)
def test_what_is_on_is_brighter_than_what_is_off(name: str, brighter: str) -> None:
    light = defaultdict(list)
    for seed in HOMES:
        for thing in home(seed).objects:
            shot = look(home(seed), thing) if thing.name == name and len(light[thing.state]) < 3 else None
            if shot is not None:
                light[thing.state].append(np.percentile(shot[0][shot[1]].mean(-1), 90))
    other = next(state for state in STATES[name] if state != brighter)
    assert min(light[brighter]) > max(light[other])


@pytest.mark.parametrize(
    ("name", "state", "colour", "least"),
    [
        ("oven", "on", (244, 150, 56), 0.05),
        ("bathtub", "full", (92, 168, 196), 0.01),
        ("fireplace", "burning", (240, 130, 50), 0.005),
    ],
)
def test_fire_and_water_are_there_in_one_state_only(
    name: str, state: str, colour: tuple[int, int, int], least: float
) -> None:
    share = defaultdict(list)
    for seed in HOMES:
        for thing in home(seed).objects:
            shot = look(home(seed), thing) if thing.name == name and len(share[thing.state]) < 3 else None
            if shot is not None:
                off = np.abs(shot[0][shot[1]].astype(float) - colour).max(-1)
                share[thing.state].append(float((off < 50).mean()))
    other = next(one for one in STATES[name] if one != state)
    assert min(share[state]) > max(least, 3 * max(share[other]))


def test_curtains_and_doors() -> None:
    seen = defaultdict(list)
    for seed in HOMES:
        things = home(seed).objects
        for window, curtain in itertools.pairwise(things):
            if (window.category, curtain.category) == ("window", "curtain") and len(seen[curtain.state]) < 5:
                shot = look(home(seed), window)
                seen[curtain.state].append(0 if shot is None else int(shot[1].sum()))
    assert max(seen["drawn"]) < 100
    assert min(seen["open"]) > 300
    # Doors are shut in their doorways and stand open beside them.
    states = []
    for seed in HOMES:
        world = home(seed)
        for room in world.plan.rooms:
            for opening in room.openings:
                x0, y0, x1, y1 = room.along(opening.side, opening.start, opening.stop, -0.02, 0.02)
                middle = (x0 + x1) / 2, (y0 + y1) / 2
                assert bool(world.floor.clearance_at(middle) > 0.25) is not opening.shut
                states.append(opening.shut)
        doors = [thing for thing in world.objects if thing.category == "door"]
        shut = sum(opening.shut and opening.leaf for room in world.plan.rooms for opening in room.openings)
        assert [door.state for door in doors].count("closed") == shut + 1, "and the front door"
    assert 0 < sum(states) < len(states)


def test_room_at_is_the_room_around_a_place_and_the_nearest_elsewhere() -> None:
    world = home(1)
    rng = np.random.default_rng(0)
    for n, room in enumerate(world.plan.rooms):
        for place in rng.uniform(room.low, room.high, (20, 2)):
            assert world.room_at(place) == room.kind
            assert world.room_number_at(place) == n
        for side in range(4):
            start, stop = room.span(side)
            x0, y0, x1, y1 = room.along(side, start, stop, -0.02, -0.01)
            assert world.room_number_at(((x0 + x1) / 2, (y0 + y1) / 2)) == n
    with pytest.raises(ShapeError, match="two finite numbers"):
        world.room_at((0.0, np.inf))


@pytest.mark.parametrize("seed", HOMES)
def test_objects_stand_in_the_room_they_are_said_to_be_in(seed: int) -> None:
    world = home(seed)
    for thing in world.objects:
        middle = (np.array(thing.low) + thing.high)[:2] / 2
        # The front door belongs to the corridor's outer wall; a shut door to the wall between two rooms.
        assert world.room_at(middle) == thing.room or thing.category == "door"
