"""Slide a block: instructions, the expert from anywhere, what counts as solved."""

import math

import numpy as np
import pytest

from support.tabletop import by_expert, far, table
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.tasks import slide_block as s


def lay(simulation: Simulation, x: float, y: float, yaw_rad: float = 0.0) -> None:
    simulation.put("block", np.array([x, y, TABLE_M + s.HALF_M[2]]), yaw_rad)


def to_target(simulation: Simulation, variation: int) -> float:
    return far(simulation.place("block"), simulation.place(f"target{variation}"))


@pytest.mark.parametrize("variation", range(4))
@pytest.mark.parametrize("seed", [0, 5, 11])
def test_the_named_colour_is_the_only_one_named_and_places_are_apart(variation: int, seed: int) -> None:
    simulation = table("slide_block", variation, seed)
    task = simulation.task
    assert [thing.name for thing in task.things] == ["block", *(f"{name} target" for name in s.TARGETS)]
    for words in (task.instruction, *task.wordings):
        assert [name for name in s.TARGETS if name in words] == [s.TARGETS[variation]]
    assert simulation.progress == pytest.approx(0, abs=1e-3)
    places = [simulation.place(thing.body) for thing in task.things]
    # A square of the block's or a target's side around each of them is free of all others.
    apart = [np.abs(one[:2] - other[:2]).max() for n, one in enumerate(places) for other in places[:n]]
    assert min(apart) > max(s.HALF_M[0] + s.TARGET_HALF_M[0], 2 * s.TARGET_HALF_M[0])
    # The block rests where it was put.
    assert simulation.place("block")[2] == pytest.approx(TABLE_M + s.HALF_M[2], abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_expert_solves_it_and_comes_nearer_with_every_pose(seed: int) -> None:
    simulation = table("slide_block", seed, seed)
    seen = [simulation.progress]
    by_expert(simulation, after=lambda: seen.append(simulation.progress), most=7)
    assert simulation.solved
    assert simulation.task.plan(simulation) == []
    assert to_target(simulation, seed) < 0.015
    assert min(np.diff(seen)) > -1e-3
    assert all(value < 1 for value in seen[:-1])
    assert min(seen) >= 0
    assert seen[-1] == 1


@pytest.mark.parametrize("yaw_rad", [0.5, 0.8, 1.4])
def test_a_turned_block_takes_two_pushes(yaw_rad: float) -> None:
    simulation = table("slide_block", 2, 3)
    block, target = simulation.place("block"), simulation.place("target2")
    bearing = math.atan2(target[1] - block[1], target[0] - block[0])
    lay(simulation, block[0], block[1], bearing + yaw_rad)
    off = abs((yaw_rad + math.pi / 4) % (math.pi / 2) - math.pi / 4)
    assert len(simulation.task.plan(simulation)) == (3 if off < s.OBLIQUE_RAD else 7)
    assert len(by_expert(simulation)) <= 8
    assert simulation.solved


def test_the_expert_goes_on_from_where_the_hand_is() -> None:
    simulation = table("slide_block", 1, 4)
    x, y, _ = simulation.place("target0")
    for pose in simulation.task.plan(simulation)[:2]:
        simulation.move(pose)
    lay(simulation, x, y)
    assert not simulation.solved
    rise, above = simulation.task.plan(simulation)[:2]
    assert rise.z == above.z == pytest.approx(s.HIGH_M)
    assert rise[:2] == pytest.approx(simulation.hand[:2])
    by_expert(simulation)
    assert simulation.solved


@pytest.mark.parametrize(("miss_m", "solved"), [(0.01, True), (0.05, False)])
def test_how_exact_poses_must_be(miss_m: float, solved: bool) -> None:
    simulation = table("slide_block", 0, 2)
    by_expert(simulation, off_m=(miss_m, 0), most=3)
    assert simulation.solved == solved


def test_the_wrong_target_is_not_solved_and_the_edge_of_the_right_one_is() -> None:
    simulation = table("slide_block", 3, 6)
    for n in range(3):
        x, y, _ = simulation.place(f"target{n}")
        lay(simulation, x, y)
        assert simulation.progress < 0.3
    x, y, _ = simulation.place("target3")
    for miss_m, solved in ((0.0, True), (s.THERE_M - 1e-4, True), (s.THERE_M + 1e-4, False)):
        lay(simulation, x + miss_m * 0.6, y - miss_m * 0.8)
        assert simulation.solved == solved
        assert 0.8 < simulation.progress <= 1
    lay(simulation, x - 0.45, y)
    assert simulation.progress == 0
