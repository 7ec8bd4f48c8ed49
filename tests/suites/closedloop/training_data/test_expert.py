"""What is kept of the expert's way: every end of a move, about so many states, and the same scene when put back."""

from dataclasses import replace

import numpy as np
import pytest

from worldgauge.suites.closedloop.training_data import demonstrations as way
from worldgauge.suites.closedloop.training_data.demonstrations import FRAMES, Solution, demonstrate, replay
from worldgauge.worlds.tabletop import Done, Tabletop, carried_out
from worldgauge.worlds.tabletop.simulation import Move, Simulation, State


@pytest.fixture(scope="module")
def table() -> Tabletop:
    return Tabletop("push_buttons", 1, 1_000_000)


@pytest.fixture(scope="module")
def solved(table: Tabletop) -> Solution:
    found = demonstrate(table)
    assert isinstance(found, Solution)
    return found


def test_every_end_of_a_move_is_a_frame(table: Tabletop, solved: Solution) -> None:
    done = carried_out(table)
    states = [solved.start, *(state for _, kept in solved.moves for state in kept)]
    assert len(solved) == len(states) == solved.reached[-1] + 1
    assert [states[frame] for frame in solved.reached] == [move.states[-1] for move in done.moves]
    assert tuple(pose for pose, _ in solved.moves) == done.poses
    assert len(set(states)) == len(states), "none twice"
    assert (solved.stride, solved.fps) == (2, 25.0)
    clock = [state.physics[0] for state in states]
    assert solved.seconds == pytest.approx(clock[-1] - clock[0])
    assert (np.diff(clock) > 0).all()


def test_states_put_back_are_what_was_there(table: Tabletop, solved: Solution) -> None:
    simulation = Simulation(table)
    hands, progress = [], []
    for k, shown in enumerate(replay(simulation, solved)):
        assert shown.asked == solved.moves[shown.sub_goal][0]
        assert shown.sub_goal == np.searchsorted(solved.reached, k)
        np.testing.assert_array_equal(simulation.hand, shown.hand)
        assert shown.things.shape == (3, 3)
        hands.append(shown.hand)
        progress.append(shown.progress)
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0.0, 1.0)
    ends = np.array([hands[frame][:3] for frame in solved.reached])
    asked = np.array([pose[:3] for pose, _ in solved.moves])
    assert np.linalg.norm(ends - asked, axis=1).max() < 0.03


def test_a_things_place_is_its_middle(table: Tabletop, solved: Solution) -> None:
    simulation = Simulation(table)
    task = simulation.task
    things = tuple(replace(thing, middle_m=0.1) for thing in task.things)
    low = next(iter(replay(simulation, solved))).things
    task.things, kept = things, task.things
    try:
        high = next(iter(replay(simulation, solved))).things
    finally:
        task.things = kept
    np.testing.assert_allclose(high - low, [[0, 0, 0.1]] * 3, atol=1e-6)


def test_fewer_states_are_kept_of_a_long_way(table: Tabletop, solved: Solution) -> None:
    whole, fewer = demonstrate(table, frames=10_000), demonstrate(table, frames=len(solved) // 3)
    assert isinstance(whole, Solution)
    assert isinstance(fewer, Solution)
    assert whole.stride == 1 < solved.stride < fewer.stride
    assert fewer.fps == pytest.approx(50 / fewer.stride)
    assert fewer.seconds == solved.seconds
    for (pose, kept), (same, all_) in zip(fewer.moves, whole.moves, strict=True):
        assert pose == same
        assert kept == all_[::-1][:: fewer.stride][::-1]
        assert kept[-1] == all_[-1]


@pytest.mark.parametrize(
    ("counts", "every"),
    [([40, 40], 1), ([149], 1), ([298], 2), ([100, 100, 100], 2), ([198], 1), ([199], 2), ([1] * 400, 1)],
)
def test_as_many_as_come_nearest(counts: list[int], every: int) -> None:
    """By hand: 1 + the sum of counts over `every`, rounded up, is nearest to 150."""
    assert way._stride(counts, FRAMES) == every


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (Done((), (), "it has no plan"), "it has no plan"),
        (
            Done((), (Move("(9.00, 0.00, 1.00) lies outside", True, (), 0.0),), "outside"),
            "a pose cannot be carried out",
        ),
        (
            Done((), (Move(None, False, (State((0.0,), (), 1.0),), 1.0),), "not solved after 15 poses"),
            "not solved after",
        ),
        (Done((), (), None), "it is solved from the start"),
    ],
)
def test_what_is_no_demonstration(table: Tabletop, monkeypatch: pytest.MonkeyPatch, done: Done, why: str) -> None:
    monkeypatch.setattr(way, "carried_out", lambda table: done)
    found = demonstrate(table)
    assert isinstance(found, str)
    assert found.startswith(why)
