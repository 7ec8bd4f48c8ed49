"""Stack cups: what is named, the expert from anywhere, what counts as on the stack, what holds in real physics."""

import numpy as np
import pytest

from support.tabletop import by_expert, far, table, waited
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.tasks import stack_cups as c


def bodies(simulation: Simulation) -> tuple[str, str, str]:
    """The named cup's first, found by its name alone."""
    words = simulation.task.instruction
    is_named = [words.endswith(f"on the {thing.name}") for thing in simulation.task.things]
    assert is_named.count(True) == 1
    one, two, three = sorted(range(3), key=lambda n: not is_named[n])
    return tuple(simulation.task.things[n].body for n in (one, two, three))  # type: ignore[return-value]


def put(simulation: Simulation, body: str, on: str, level: int, off_m: float = 0.0) -> None:
    simulation.put(body, simulation.place(on) + np.array([off_m, 0, level * c.STEP_M]))


@pytest.mark.parametrize("seed", [1, 14])
def test_the_expert_solves_it_stage_by_stage(seed: int) -> None:
    simulation = table("stack_cups", seed, seed)
    seen: list[float] = []
    moves = by_expert(simulation, after=lambda: seen.append(simulation.progress), most=11)
    assert all(move.reason is None for move in moves)
    # Above, grasp, lift, over, let go; up; and the same once more.
    assert seen == [0, 0.125, 0.125, 0.25, 0.5, 0.5, 0.5, 0.625, 0.625, 0.75, 1]
    assert simulation.task.plan(simulation) == []
    named, *others = bodies(simulation)
    heights = sorted(simulation.place(body)[2] for body in others)
    assert heights == pytest.approx([TABLE_M + c.STEP_M, TABLE_M + 2 * c.STEP_M], abs=2e-3)
    assert all(far(simulation.place(body), simulation.place(named)) < c.ON_M for body in others)
    waited(simulation)
    assert simulation.solved


def test_cups_on_the_wrong_one_are_worth_nothing_and_are_brought_over() -> None:
    simulation = table("stack_cups", 4, 1)
    _, one, other = bodies(simulation)
    put(simulation, one, other, 1)
    waited(simulation)
    assert simulation.progress == 0
    # From the top: the lower one cannot go first.
    first = simulation.task.plan(simulation)[1]
    assert first.z == pytest.approx(simulation.place(one)[2] + c.GRIP_M, abs=1e-6)
    by_expert(simulation)
    assert simulation.solved


def test_the_named_cup_must_be_the_lowest() -> None:
    simulation = table("stack_cups", 4, 1)
    named, one, other = bodies(simulation)
    put(simulation, one, other, 1)
    put(simulation, named, other, 2)
    assert simulation.progress == 0


def test_a_named_cup_that_is_held_is_set_down_first() -> None:
    simulation = table("stack_cups", 6, 3)
    named, one, other = bodies(simulation)
    x, y, z = simulation.place(named)
    for height, gripper in ((c.TRAVEL_M, 1), (z + c.GRIP_M, 0), (c.TRAVEL_M, 0)):
        simulation.move(HandPose(x, y, height, 1, 0, 0, 0, gripper))
    assert simulation.held(named)
    assert simulation.progress == 0
    assert len(by_expert(simulation, most=2)) == 2
    assert not any(simulation.held(body) for body in (named, one, other))
    assert simulation.place(named)[2] == pytest.approx(TABLE_M, abs=1e-3)
    assert len(simulation.task.plan(simulation)) == 11


def test_what_counts_as_on_the_stack() -> None:
    simulation = table("stack_cups", 9, 3)
    named, one, other = bodies(simulation)
    put(simulation, one, named, 2)
    put(simulation, other, named, 1)
    assert simulation.progress == 1
    put(simulation, one, named, 2, off_m=c.ON_M + 1e-3)
    assert simulation.progress == 0.5
    put(simulation, one, named, 4)
    assert simulation.progress == 0.5
    put(simulation, other, named, 3, off_m=0.1)
    assert simulation.progress == 0


def test_a_hand_that_misses_stacks_nothing() -> None:
    simulation = table("stack_cups", 2, 2)
    for pose in simulation.task.plan(simulation)[:5]:
        simulation.move(pose._replace(x=pose.x + 0.06))
    assert simulation.progress == 0
    # Up from where it is, and again.
    assert simulation.task.plan(simulation)[0] == pytest.approx((*simulation.hand[:2], c.TRAVEL_M, 1, 0, 0, 0, 1))
