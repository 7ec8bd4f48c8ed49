"""What holds for every task: its numbers, its start, its expert from anywhere, its end, and the same bits again."""

import itertools
import math

import numpy as np
import pytest

from support.tabletop import by_expert, far, table, waited
from worldgauge.core.errors import UsageError
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.shapes import COLOURS
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.tasks.insert_ring import RING_HALF_M
from worldgauge.worlds.tabletop.tasks.push_buttons import APART_M


def places(simulation: Simulation) -> np.ndarray:
    return np.array([simulation.place(thing.body) for thing in simulation.task.things])


@pytest.mark.parametrize("task", ["insert_ring", "stack_cups"])
def test_every_colour_is_named_once_and_all_can_be_distinguished(task: str) -> None:
    for variation, colour in enumerate(COLOURS):
        one = Tabletop(task, variation, seed=variation).task
        coloured = [thing for thing in one.things if thing.category in ("peg", "cup")]
        assert len(coloured) == 3
        assert [thing.colour for thing in coloured].count(colour) == 1
        assert all(f"the {colour} {coloured[0].category}" in words for words in (one.instruction, *one.wordings))
        pairs = itertools.combinations(coloured, 2)
        assert all(math.dist(COLOURS[a.colour], COLOURS[b.colour]) >= 0.4 for a, b in pairs)


@pytest.mark.parametrize("task", ["push_buttons", "stack_cups"])
def test_numbers_of_bodies_do_not_depend_on_the_instruction(task: str) -> None:
    named = set()
    for seed in range(8):
        one = Tabletop(task, 0, seed).task
        named |= {thing.body[-1] for thing in one.things if one.instruction.endswith(f"the {thing.name}")}
    assert named == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("task", "apart_m", "height_m"),
    [("push_buttons", APART_M, None), ("insert_ring", 0.13, RING_HALF_M), ("stack_cups", 0.16, 0.0)],
)
@pytest.mark.parametrize("seed", [0, 3, 7])
def test_at_the_start_nothing_is_done_and_things_lie_apart(
    task: str, seed: int, apart_m: float, height_m: float | None
) -> None:
    simulation = table(task, seed, seed)
    before = places(simulation)
    assert min(far(one, other) for one, other in itertools.combinations(before, 2)) >= apart_m
    if height_m is not None:
        assert before[0, 2] == pytest.approx(TABLE_M + height_m, abs=1e-3)
    assert simulation.progress == 0
    waited(simulation)
    np.testing.assert_allclose(places(simulation), before, atol=1e-4)
    assert (simulation.progress, simulation.memory) == (0, ())


@pytest.mark.parametrize(
    ("task", "variation", "seed", "poses", "left"),
    [("insert_ring", 5, 2, 7, 0), ("slide_block", 1, 4, 3, 0), ("stack_cups", 5, 2, 11, 3)],
)
def test_the_plan_gets_shorter_pose_by_pose(task: str, variation: int, seed: int, poses: int, left: int) -> None:
    simulation = table(task, variation, seed)
    for count in range(poses, left, -1):
        plan = simulation.task.plan(simulation)
        assert len(plan) == count
        simulation.move(plan[0])


@pytest.mark.parametrize(
    ("task", "variation", "seed"),
    [
        *(("insert_ring", variation, 2) for variation in (0, 8, 19)),
        *(("push_buttons", variation, 2) for variation in (0, 4, 8)),
        *(("slide_block", variation, 9) for variation in range(4)),
        *(("stack_cups", variation, 2) for variation in (0, 8, 19)),
    ],
)
def test_finished_stays_solved(task: str, variation: int, seed: int) -> None:
    simulation = table(task, variation, seed)
    simulation.task.finish(simulation)
    assert simulation.progress == 1
    before = places(simulation)
    waited(simulation)
    assert simulation.progress == 1
    np.testing.assert_allclose(places(simulation), before, atol=2e-3)
    if task == "slide_block":
        assert far(simulation.place("block"), simulation.place(f"target{variation}")) < 1e-3


@pytest.mark.parametrize(
    ("task", "variation", "most"),
    [("insert_ring", 7, 15), ("push_buttons", 7, 15), ("slide_block", 1, 15), ("stack_cups", 7, 5)],
)
def test_the_same_seed_is_the_same_to_the_last_bit(task: str, variation: int, most: int) -> None:
    one, two, other = (table(task, variation, seed) for seed in (5, 5, 6))
    assert one.world.facts == two.world.facts != other.world.facts
    for simulation in (one, two):
        by_expert(simulation, most=most)
    assert one.state() == two.state()


@pytest.mark.parametrize(
    ("task", "last"), [("insert_ring", 19), ("push_buttons", 49), ("slide_block", 3), ("stack_cups", 19)]
)
def test_variations_that_do_not_exist_are_refused(task: str, last: int) -> None:
    for variation in (-1, last + 1):
        with pytest.raises(UsageError, match=f"0 to {last}"):
            Tabletop(task, variation)
