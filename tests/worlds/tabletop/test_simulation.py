"""Moves: what they reach, what they refuse, that they hold what they grip, and that they repeat to the last bit."""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import WorldError
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import RECORD_S, Simulation, TableState, UnstableError


def down(x: float, y: float, above_m: float, gripper: float = 1.0, yaw: float = 0.0) -> HandPose:
    return HandPose(x, y, TABLE_M + above_m, math.cos(yaw / 2), math.sin(yaw / 2), 0.0, 0.0, gripper)


@pytest.fixture
def table() -> Simulation:
    return Simulation(Tabletop("push_buttons", 0, seed=1))


def test_the_hand_gets_where_it_is_told_to(table: Simulation) -> None:
    for pose in (down(0.3, 0.2, 0.1), down(0.1, -0.2, 0.3, 0.0, 1.0), down(0.4, 0.0, 0.05)):
        move = table.move(pose)
        assert (move.reason, move.failed) == (None, False)
        np.testing.assert_allclose(table.hand[:3], pose[:3], atol=1e-3)
        assert abs(np.dot(table.hand[3:7], pose[3:7])) > math.cos(0.005)
        assert table.hand.gripper == pose.gripper


def test_a_move_tells_its_states_twenty_a_second_with_the_gripper(table: Simulation) -> None:
    table.move(down(0.3, 0.2, 0.1))
    move = table.move(down(0.3, 0.2, 0.1, 0.0))
    assert move.seconds > 0.6  # settling and closing
    assert len(move.states) == pytest.approx(move.seconds / RECORD_S + 1, abs=1)
    assert move.states[-1] == table.state()
    assert len({state.physics for state in move.states}) >= len(move.states) - 1


OUTSIDE = down(0.3, 0.2, 0.1)._replace(x=0.8)


@pytest.mark.parametrize(
    ("pose", "reason"),
    [
        (down(0.3, math.nan, 0.1), "not finite"),
        (down(0.3, math.inf, 0.1), "not finite"),
        (down(0.3, 0.2, 0.1)[:7], "8 numbers"),
        ([down(0.3, 0.2, 0.1)], "8 numbers"),
        ((), "8 numbers"),
        (["x"] * 8, "no number"),
        (None, "8 numbers"),
        (down(0.3, 0.2, 0.1)._replace(qx=0.0), "quaternion"),
        (down(0.3, 0.2, 0.1)._replace(qx=2.0), "quaternion"),
        (down(0.3, 0.2, 0.1, 1.5), "gripper"),
        (down(0.3, 0.2, 0.1, -0.1), "gripper"),
        (OUTSIDE, "outside the workspace"),
        (down(0.69, 0.49, 0.84), "cannot reach"),
        (down(0.3, 0.2, -0.1), "stands fast"),
    ],
)
def test_a_pose_that_is_none_moves_nothing_and_says_why(table: Simulation, pose: Any, reason: str) -> None:
    before, hand = table.state(), table.hand
    move = table.move(pose)
    assert move.failed
    assert move.reason is not None
    assert reason in move.reason
    assert "\n" not in move.reason
    assert (move.states, move.seconds) == ((), 0.0)
    assert table.state() == before
    assert table.hand == hand


def test_the_edge_of_the_workspace_in_32_bits_lies_inside(table: Simulation) -> None:
    low = np.array(down(0.3, 0.2, 0.1))
    low[1] = np.float32(-0.5)
    assert "outside" not in (table.move(low).reason or "")


def test_a_move_that_is_held_up_says_how_short_it_stopped(furnished: Callable[..., Simulation]) -> None:
    simulation = furnished((0.05, 0.05, 0.1), 0.3, 0.0, 0.1, mass=500.0)
    simulation.move(down(0.3, -0.15, 0.1))
    move = simulation.move(down(0.3, 0.0, 0.1))
    assert not move.failed
    assert move.states
    assert move.reason is not None
    assert "short" in move.reason


@pytest.mark.parametrize(
    ("shape", "half_m", "mass"),
    [
        ("box", (0.01, 0.01, 0.02), 0.03),
        ("box", (0.02, 0.035, 0.02), 0.2),
        ("cylinder", (0.01, 0.01, 0.03), 0.05),
        ("cylinder", (0.035, 0.035, 0.03), 0.1),
    ],
)
def test_what_is_gripped_is_held_while_the_hand_moves(
    furnished: Callable[..., Simulation], shape: str, half_m: tuple[float, float, float], mass: float
) -> None:
    simulation = furnished(half_m, 0.25, 0.003, half_m[2] + 0.001, mass, shape)
    for pose in (down(0.25, 0.0, 0.1), down(0.25, 0.0, half_m[2]), down(0.25, 0.0, half_m[2], 0.0)):
        simulation.move(pose)
    assert simulation.held("thing")
    first = simulation.place("thing") - simulation.hand[:3]
    for pose in (down(0.25, 0.0, 0.2, 0.0), down(0.1, 0.25, 0.2, 0.0, 1.0), down(0.35, -0.2, 0.25, 0.0)):
        assert simulation.move(pose).reason is None
    assert simulation.held("thing")
    assert np.linalg.norm(simulation.place("thing") - simulation.hand[:3] - first) < 0.005
    simulation.move(down(0.35, -0.2, half_m[2] + 0.005, 0.0))
    simulation.move(down(0.35, -0.2, half_m[2] + 0.005))
    simulation.move(down(0.35, -0.2, 0.2))
    assert not simulation.held("thing")
    np.testing.assert_allclose(simulation.place("thing"), (0.35, -0.2, TABLE_M + half_m[2]), atol=0.008)


def test_what_is_pushed_over_the_edge_lies_on_the_floor(furnished: Callable[..., Simulation]) -> None:
    simulation = furnished((0.02, 0.02, 0.02), 0.25, 0.7, 0.1, mass=0.1)
    for x in (0.2, 0.3):
        simulation.move(down(x, 0.0, 0.2))
    assert simulation.place("thing")[2] == pytest.approx(0.02, abs=0.005)


def test_a_restored_state_goes_on_as_the_one_it_was_taken_of() -> None:
    world = Tabletop("stack_cups", 1, seed=4)
    one, other = Simulation(world), Simulation(Tabletop("stack_cups", 1, seed=4))
    poses = world.task.plan(one)[:3]
    for pose in poses:
        before = one.state()
        told = world.task.plan(one)
        move = one.move(pose)
        other.move(down(0.1, 0.1, 0.3))
        other.restore(TableState.of(json.loads(json.dumps(before.plain()))))
        assert other.state() == before
        assert other.task.plan(other) == told
        assert other.move(pose) == move
        # Also what is derived from the state, not the state alone.
        assert other.hand == one.hand
        for thing in world.task.things:
            np.testing.assert_array_equal(other.place(thing.body), one.place(thing.body))
    middle = move.states[len(move.states) // 2]
    ends = []
    for simulation in (one, other):
        simulation.restore(middle)
        ends.append(simulation.move(poses[0]))
    assert ends[0] == ends[1]


def digest() -> str:
    """Of a table after three poses, and of its picture."""
    simulation = Simulation(Tabletop("slide_block", 1, seed=7))
    for pose in simulation.task.plan(simulation)[:3]:
        simulation.move(pose)
    text = json.dumps(simulation.state().plain()).encode() + simulation.front(96).tobytes()
    return hashlib.sha256(text).hexdigest()


def test_another_process_comes_to_the_same_bytes(tmp_path: Path) -> None:
    code = f"import runpy; print(runpy.run_path({__file__!r})['digest']())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == digest()


def test_a_world_with_a_state_begins_there(table: Simulation) -> None:
    table.move(down(0.3, 0.2, 0.1, 0.0))
    facts = Tabletop("push_buttons", 0, seed=1, state=table.state().plain()).facts
    assert facts.digest == table.world.facts.digest
    again = open_world(facts)
    assert isinstance(again, Tabletop)
    assert Simulation(again).state() == table.state()


def test_a_state_of_another_table_is_refused_and_changes_nothing(table: Simulation) -> None:
    before = table.state()
    with pytest.raises(WorldError, match="none of this table"):
        table.restore(Simulation(Tabletop("stack_cups", 0)).state())
    with pytest.raises(WorldError, match="none of this table"):
        table.restore(TableState((math.nan, *before.physics[1:]), (), 1.0))
    assert table.state() == before
    for wrong in ([], [[1.0], [], "open"], [["x"], [], 1.0], 3):
        with pytest.raises(WorldError, match=r"no state of a table|none of this table"):
            Simulation(Tabletop("push_buttons", 0, state=wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1e5, math.inf, math.nan])
def test_physics_that_blow_up_end_in_an_error_and_leave_no_log(
    value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    simulation = Simulation(Tabletop("stack_cups", 0))
    before = simulation.state()
    simulation.data.qvel[9] = value
    with pytest.raises(UnstableError, match="unstable"):
        simulation.move(down(0.2, 0.1, 0.3))
    assert list(tmp_path.iterdir()) == []
    simulation.restore(before)
    assert simulation.move(down(0.2, 0.1, 0.3)).reason is None


def test_physics_that_blow_up_on_the_way_leave_everything_as_it_was(
    table: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, picture, tick = table.state(), table.front(32), Simulation._tick
    ticks = 0

    def blow_up(self: Simulation) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 20:
            self.data.qpos[0] = self.data.qvel[0] = math.nan
        tick(self)

    monkeypatch.setattr(Simulation, "_tick", blow_up)
    with pytest.raises(UnstableError, match="unstable"):
        table.move(down(0.2, 0.1, 0.3, 0.0))
    assert table.state() == before
    np.testing.assert_array_equal(table.front(32), picture)
    assert table.move(down(0.2, 0.1, 0.3, 0.0)).reason is None
