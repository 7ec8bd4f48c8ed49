"""Push buttons: what is named, the order that counts, the expert from anywhere, one button a push."""

import itertools
import math

import numpy as np
import pytest

from support.tabletop import by_expert, far, table
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.shapes import COLOURS
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.tasks import push_buttons as b


def named(simulation: Simulation) -> list[str]:
    """Bodies of the buttons in the order of the instruction, found by their names alone."""
    names = simulation.task.instruction.removeprefix("push the ").split(", then the ")
    return [next(thing.body for thing in simulation.task.things if thing.name == name) for name in names]


def push(simulation: Simulation, body: str, off_m: tuple[float, float] = (0.0, 0.0)) -> None:
    x, y, _ = simulation.place(body)
    for way in (b.ABOVE_M, b.PAD_M - b.TRAVEL_M, b.ABOVE_M):
        simulation.move(HandPose(x + off_m[0], y + off_m[1], b.TOP_M + way, 1, 0, 0, 0, 0))


def test_fifty_variations_name_fifty_things_to_do() -> None:
    tasks = [Tabletop("push_buttons", variation, seed=1).task for variation in range(50)]
    assert len({task.instruction for task in tasks}) == 50
    for variation, task in enumerate(tasks):
        assert task.instruction.count("button") == task.wordings[0].count("button") == 1 + variation % 3
        assert len({thing.name for thing in task.things}) == 3
        pairs = itertools.combinations(task.things, 2)
        assert all(math.dist(COLOURS[one.colour], COLOURS[other.colour]) >= 0.4 for one, other in pairs)
        assert task.instruction in (f"push the {words}" for words in _orders([thing.name for thing in task.things]))


def _orders(names: list[str]) -> list[str]:
    return [", then the ".join(order) for count in (1, 2, 3) for order in itertools.permutations(names, count)]


@pytest.mark.parametrize("variation", [0, 1, 2, 3, 49])
def test_the_expert_pushes_them_in_order(variation: int) -> None:
    simulation = table("push_buttons", variation, variation)
    seen: list[float] = []
    moves = by_expert(simulation, after=lambda: seen.append(simulation.progress))
    count = 1 + variation % 3
    assert simulation.solved
    assert simulation.task.plan(simulation) == []
    assert len(moves) == 3 * count - 1
    assert all(move.reason is None for move in moves)
    assert seen == sorted(seen)
    assert set(seen) == {done / count for done in range(count + 1)}


def test_the_expert_goes_up_first_where_it_missed() -> None:
    simulation = table("push_buttons", 0, 3)
    for pose in simulation.task.plan(simulation):
        simulation.move(pose._replace(x=pose.x + 0.05))
    assert simulation.memory == ()
    up, above, down = simulation.task.plan(simulation)
    assert far(np.array(up[:2]), np.array(simulation.hand[:2])) < 1e-6
    assert up.z == above.z > down.z
    by_expert(simulation)
    assert simulation.solved


def test_another_button_spoils_it() -> None:
    simulation = table("push_buttons", 1, 2)
    first, second = named(simulation)
    push(simulation, second)
    assert simulation.progress == 0
    push(simulation, first)
    assert simulation.progress == 0
    assert len(simulation.memory) == 2
    right = table("push_buttons", 1, 2)
    push(right, first)
    assert right.progress == 0.5
    push(right, next(thing.body for thing in right.task.things if thing.body not in (first, second)))
    assert right.progress == 0


@pytest.mark.parametrize(("off_m", "met"), [((0.0, 0.02), True), ((0.02, 0.0), True), ((0.05, 0.0), False)])
def test_how_exact_a_push_must_be(off_m: tuple[float, float], met: bool) -> None:
    simulation = table("push_buttons", 2, 4)
    first = named(simulation)[0]
    push(simulation, first, off_m)
    assert (simulation.memory == (int(first[-1]),)) is met
    assert len(simulation.memory) == int(met)


def test_a_button_that_is_pushed_lights_up() -> None:
    simulation = table("push_buttons", 0, 1)
    assert simulation.task.colours(()) == {}
    by_expert(simulation)
    (body,) = named(simulation)
    assert list(simulation.task.colours(simulation.memory)) == [f"{body}_cap"]
