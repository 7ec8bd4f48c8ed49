"""Put a ring on a peg: instructions, the expert from anywhere, what counts as solved, how exact it must be."""

import math

import numpy as np
import pytest

from support.tabletop import by_expert, far, table, waited
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.tasks import insert_ring as r


def peg_of(simulation: Simulation) -> np.ndarray:
    """The named peg's place, found by its name alone."""
    (named,) = [
        thing for thing in simulation.task.things if simulation.task.instruction == f"put the ring on the {thing.name}"
    ]
    return simulation.place(named.body)


def lay(simulation: Simulation, at: np.ndarray, up_m: float = 0.0, yaw_rad: float = 0.0) -> None:
    simulation.put("ring", np.array([at[0], at[1], TABLE_M + r.RING_HALF_M + up_m]), yaw_rad)


@pytest.mark.parametrize("variation", [0, 8, 19])
def test_the_seed_shuffles_the_numbers_of_the_pegs_and_keeps_their_colours(variation: int) -> None:
    tables = [[thing.colour for thing in Tabletop("insert_ring", variation, seed).task.things] for seed in range(6)]
    assert {ring for ring, *_ in tables} == {"grey"}
    assert len({frozenset(pegs) for _, *pegs in tables}) == 1
    assert len({tuple(pegs) for _, *pegs in tables}) > 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_expert_solves_it_stage_by_stage(seed: int) -> None:
    simulation = table("insert_ring", seed, seed)
    seen: list[float] = []
    moves = by_expert(simulation, after=lambda: seen.append(simulation.progress), most=8)
    assert simulation.solved
    assert simulation.task.plan(simulation) == []
    assert all(move.reason is None for move in moves)
    assert far(simulation.place("ring"), peg_of(simulation)) < 0.006
    assert min(np.diff(seen)) > -1e-3
    above, down, grasp, lift, over, low, release = seen
    assert above == down == 0
    assert grasp == pytest.approx(0.2, abs=0.02)
    assert 0.4 <= lift < 0.6
    assert over == pytest.approx(0.8, abs=0.02)
    assert low == 0.9
    assert release == 1
    waited(simulation)
    assert simulation.solved


def test_the_expert_takes_the_ring_off_the_wrong_peg() -> None:
    simulation = table("insert_ring", 4, 1)
    peg = peg_of(simulation)
    wrong = next(
        place
        for place in (simulation.place(thing.body) for thing in simulation.task.things[1:])
        if far(place, peg) > 0.01
    )
    lay(simulation, wrong)
    waited(simulation)
    assert simulation.progress == 0
    by_expert(simulation)
    assert simulation.solved


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize(("miss_m", "solved"), [(0.003, True), (0.03, False)])
def test_how_exact_the_place_of_the_peg_must_be(seed: int, miss_m: float, solved: bool) -> None:
    simulation = table("insert_ring", seed, seed)
    for _ in range(7):
        pose = simulation.task.plan(simulation)[0]
        simulation.move(pose._replace(x=pose.x + miss_m * simulation.held("ring")))
    assert simulation.solved == solved


@pytest.mark.parametrize("angle_rad", [0.0, 2.0, 4.0])
def test_three_millimetres_are_exact_enough(angle_rad: float) -> None:
    simulation = table("insert_ring", 6, 6)
    by_expert(simulation, off_m=(0.003 * math.cos(angle_rad), 0.003 * math.sin(angle_rad)), most=9)
    assert simulation.solved


def test_what_counts_as_on_the_peg() -> None:
    simulation = table("insert_ring", 9, 3)
    peg = peg_of(simulation)
    lay(simulation, peg)
    assert simulation.progress == 1
    lay(simulation, peg, up_m=0.02)
    assert simulation.progress == 0.9
    lay(simulation, peg, up_m=2 * r.PEG_HALF_M[2])
    assert simulation.progress == 0
    lay(simulation, peg + np.array([0.02, 0, 0]))
    assert simulation.progress == 0
