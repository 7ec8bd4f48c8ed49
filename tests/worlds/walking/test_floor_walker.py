"""The walker of floors: the keys of LoopNav, one step length, and never nearer to things than it may be."""

import itertools
import math
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import WALK_STEP_M
from worldgauge.core.errors import UnknownNameError, UsageError, WorldError
from worldgauge.core.registry import Entry
from worldgauge.worlds import worlds
from worldgauge.worlds.walking.clearance import RADIUS_M
from worldgauge.worlds.walking.floor import FloorPlan, build_walkable, check_walkable, walkable_worlds
from worldgauge.worlds.walking.walk import WalkGoal
from worldgauge.worlds.walking.walkers import REACH_M, TURN_LIMIT, FloorWalker, Stride, WalkFailedError


def two_rooms(door: bool = True) -> FloorPlan:
    """6 x 4 m from (-1, 2), 5 cm cells, 0.4 m high; a wall at x = 2 with a door of 1 m at its end."""
    free = np.ones((120, 80), bool)
    free[58:62] = False
    if door:
        free[58:62, 60:] = True
    return FloorPlan(free, np.full(free.shape, 0.4, np.float32), (-1.0, 2.0), 0.05)


def walked(walker: FloorWalker, goal: WalkGoal) -> list[Stride]:
    return list(walker.walk(goal))


def test_it_arrives_with_room_and_before_the_middle_of_near_goals() -> None:
    floor = two_rooms()
    walker = FloorWalker(floor)
    walker.stand((0, 3, 0), math.pi / 2)
    strides = walked(walker, WalkGoal(4, 3, 0))
    xy = np.array([stride.position[:2] for stride in strides])
    assert math.dist(xy[0], (0.5, 3.5)) < 0.05
    assert math.dist(xy[-1], (4.5, 3.5)) < 0.05 + REACH_M
    assert floor.clearance_at(xy).min() > RADIUS_M - REACH_M
    np.testing.assert_allclose([stride.position[2] for stride in strides], 0.4, atol=1e-6)
    # A near goal is reached before its middle.
    walker = FloorWalker(two_rooms())
    walker.stand((0, 3, 0), 0.0)
    x, y, _ = walked(walker, WalkGoal(4, 3, range_sq=1))[-1].position
    assert (math.floor(x) - 4) ** 2 + (math.floor(y) - 3) ** 2 <= 1
    assert math.dist((x, y), (4.5, 3.5)) > 2 * REACH_M, "it stops before the middle"


def test_a_tick_turns_or_steps_and_keys_act_in_the_next_one() -> None:
    walker = FloorWalker(two_rooms())
    walker.stand((0, 3, 0), 0.0)
    strides = [
        Stride((0.5, 3.5, 0.4), 0.0, walked(walker, WalkGoal(0, 3, 0))[0].control),
        *walked(walker, WalkGoal(4, 4, 0)),
    ]
    for before, after in itertools.pairwise(strides):
        turn = after.yaw - before.yaw
        assert turn == pytest.approx(after.control.camera[0])
        assert abs(turn) <= TURN_LIMIT + 1e-12
        moved = np.subtract(after.position, before.position)[:2]
        ahead = WALK_STEP_M * before.control.forward * np.array([math.cos(before.yaw), math.sin(before.yaw)])
        np.testing.assert_allclose(moved, ahead, atol=0.03 if before is strides[0] else 1e-9)
        assert not (after.control.forward and abs(turn) >= 0.01)
    assert strides[-1].control == (((0.0, 0.0)), False, False)


def test_what_cannot_be_reached_is_no_goal() -> None:
    walker = FloorWalker(two_rooms(door=False))
    rooms = {x < 2 for x, _, _ in walker.cells}
    assert len(rooms) == 1, "one of two rooms, for no cell is out of reach of another"
    inside = walker.cells[0]
    outside = next(x for x in (0, 4) if walker.cell_at(x, 3) is None)
    walker.stand(inside, 0.0)
    with pytest.raises(WalkFailedError, match="no path"):
        walked(walker, WalkGoal(outside, 3, 0))
    with pytest.raises(WorldError, match="no room to stand"):
        walker.stand((outside, 3, 0), 0.0)
    with pytest.raises(WorldError, match="nowhere"):
        FloorWalker(FloorPlan(np.zeros((20, 20), bool), np.zeros((20, 20), np.float32), (0.0, 0.0), 0.05))


def test_worlds_that_have_a_floor_say_so() -> None:
    assert {"indoor", "room", "voxel", "minecraft"} <= set(walkable_worlds())
    for name in walkable_worlds():
        world = worlds.get(name)(**worlds.entry(name).facts["example"])
        assert world.floor.free.any()  # type: ignore[attr-defined]
    assert build_walkable("indoor", 7).facts.params == {"seed": 7}
    with pytest.raises(UsageError, match=r"'tabletop' is not one .* these can: indoor, minecraft, room"):
        check_walkable("tabletop")
    with pytest.raises(UnknownNameError, match=r"no walkable world 'indor'\. Did you mean 'indoor'\? Known: indoor, "):
        check_walkable("indor")


def test_walkable_worlds_of_other_packages_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that can be imported: a broken package hides no other."""
    (tmp_path / "meadows.py").write_text(
        "from worldgauge.worlds import worlds\n"
        "@worlds.register('meadow', walkable=True, example={'seed': 1})\nclass Meadow: ...\n"
        "@worlds.register('sky', example={'seed': 1})\nclass Sky: ...\n"
    )
    (tmp_path / "broken_world.py").write_text("1 / 0\n")
    offered = {"meadow": "meadows:Meadow", "sky": "meadows:Sky", "pit": "broken_world:Pit"}
    kept = dict(worlds._entries)
    for name, value in offered.items():
        worlds._add(Entry(name, value, EntryPoint(name, value, "worldgauge.worlds")))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert "meadow" in walkable_worlds()
        assert not {"sky", "pit"} & set(walkable_worlds())
        with pytest.raises(UsageError, match="these can: indoor, meadow, minecraft"):
            check_walkable("sky")
    finally:
        worlds._entries.clear()
        worlds._entries.update(kept)
