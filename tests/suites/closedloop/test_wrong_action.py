"""`wrong-action`: the mirror by hand, and the simulator's own pictures of the mirrored plan."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks._real import SEED_STEP, Wrong

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.models import WrongAction, mirrored, stops
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.pose_plans import as_actions, clip_plan, from_actions
from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError, front_camera, front_pose

WORLD = WorldFacts("tabletop", {"task": "push_buttons", "variation": 1, "seed": 3})
HOME = np.array([0.0, 0.0, 1.237, 1, 0, 0, 0, 1])
DOWN = (1.0, 0.0, 0.0, 0.0)


def pose(x: float, y: float, z: float, gripper: float = 0.0) -> list[float]:
    return [x, y, z, *DOWN, gripper]


def question(goals: list[list[float]], *, size_px: int = 64, world: WorldFacts = WORLD) -> RolloutRequest:
    """A plan from home, over 14 frames."""
    camera, eye = front_camera(size_px), front_pose()[None]
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    seen = Clip.from_array(simulation.rgb(eye[0], camera)[None], 7.0)
    poses = clip_plan(simulation.hand, np.array(goals), 14).poses[1:]
    context = Context(seen, eye, as_actions(np.empty((0, 8))), camera)
    return RolloutRequest(context, 13, 5, actions=as_actions(poses), world=world)


def imagined(request: RolloutRequest) -> Frames:
    return np.concatenate(list(checked_rollout(WrongAction(), request)))


def test_a_mirror_by_hand() -> None:
    half = np.radians(30) / 2
    turned = np.array([0.2, 0.3, 0.9, np.cos(half), np.sin(half), 0, 0, 1])
    # Straight down and turned by 30 degrees to the left, it is turned by 30 degrees to the right; the sign is free.
    np.testing.assert_allclose(mirrored(turned), [0.2, -0.3, 0.9, -np.cos(half), np.sin(half), 0, 0, 1])
    about_y = np.array([0.2, 0.0, 0.9, 0, np.sin(half), 0, np.cos(half), 0])
    np.testing.assert_allclose(mirrored(about_y), about_y)


def test_the_mirror_of_a_matrix() -> None:
    """Against the reflection M R M with M = diag(1, -1, 1)."""
    from worldgauge.worlds.tabletop.simulation import matrix_of

    flip = np.diag([1.0, -1, 1])
    for quaternion in np.random.default_rng(0).normal(size=(20, 4)):
        asked = np.array([0.1, -0.2, 1.0, *quaternion / np.linalg.norm(quaternion), 1])
        np.testing.assert_allclose(
            matrix_of(mirrored(asked))[:3, :3], flip @ matrix_of(asked)[:3, :3] @ flip, atol=1e-9
        )
        np.testing.assert_allclose(mirrored(mirrored(asked)), asked)


def test_another_table_shows_the_same_poses_where_things_lie_elsewhere() -> None:
    request = question([pose(0.2, 0.3, 0.9)])
    assert request.actions is not None
    shown = np.concatenate(list(checked_rollout(Wrong("another world"), request)))
    other = Simulation(Tabletop("push_buttons", 1, 3 + SEED_STEP))
    other.move(from_actions(request.actions)[-1])
    np.testing.assert_array_equal(shown[-1], other.rgb(front_pose(), front_camera(64)))


def test_the_mirror_stays_in_the_workspace() -> None:
    # As 32-bit numbers, which actions are, the workspace's own corners lie outside it.
    corner = np.array([*np.array([0.7, -0.5, 1.6], np.float32) * np.float32(1.000001), *DOWN, 0])
    assert mirrored(corner)[:3].tolist() == [0.7, 0.5, 1.6]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 13])
def test_stops_are_the_anchors_of_a_plan(n: int) -> None:
    rng = np.random.default_rng(n)
    goals = np.array([pose(*rng.uniform((0, -0.4, 0.8), (0.4, 0.4, 1.2)), gripper=k % 2) for k in range(n)])
    told = clip_plan(HOME, goals, 14)
    way = np.vstack([HOME, from_actions(as_actions(told.poses[1:]))])
    assert tuple(stops(way)) == told.anchors


def test_a_straight_way_is_one_move_unless_the_hand_does_something() -> None:
    line = np.array([pose(0.1 * k, 0, 1.0, 1.0) for k in range(6)])
    assert stops(line) == [5]
    closed = line.copy()
    closed[2:, 7] = 0
    assert stops(closed) == [2, 5]
    uneven = line.copy()
    uneven[3:, 0] += 0.05
    assert stops(uneven) == [2, 3, 5]


def test_the_right_physics_of_the_mirrored_plan() -> None:
    goals = [pose(0.2, 0.2, 0.95), pose(0.3, 0.1, 0.85)]
    frames = imagined(question(goals))
    assert frames.shape == (13, 64, 64, 3)
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    for goal, anchor in zip(goals, clip_plan(simulation.hand, np.array(goals), 14).anchors, strict=True):
        simulation.move(pose(goal[0], -goal[1], goal[2]))
        simulation.restore(simulation.state())
        seen = simulation.rgb(front_pose(), front_camera(64)).astype(int)
        # The mirrored poses have gone through 32-bit numbers.
        assert np.abs(frames[anchor - 1] - seen).mean() < 0.1
    moved = [float(np.abs(frames[k] - frames[k - 1].astype(int)).mean()) for k in range(1, 13)]
    assert sum(value > 0.2 for value in moved) > 6, "the frames between two poses are on the way"


def test_a_plan_in_the_mirror_itself_is_done_as_it_was_asked() -> None:
    frames = imagined(question([pose(0.3, 0.0, 0.9)]))
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    simulation.move(pose(0.3, 0.0, 0.9))
    assert np.abs(frames[-1] - simulation.rgb(front_pose(), front_camera(64)).astype(int)).mean() < 0.1


def test_it_starts_from_the_table_as_it_is_now() -> None:
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    simulation.move(pose(0.2, 0.3, 0.9))
    now = replace(WORLD, params={**WORLD.params, "state": simulation.state().plain()})
    request = question([pose(0.2, 0.3, 0.9)])
    early, late = imagined(request)[0], imagined(replace(request, world=now))[0]
    assert np.abs(early.astype(int) - late).mean() > 1


def test_a_batch_is_its_single_requests() -> None:
    requests = [question([pose(0.2, 0.2, 0.95)], size_px=32), question([pose(0.3, -0.1, 0.85)], size_px=32)]
    for one, frames in zip(requests, checked_batch(WrongAction(), requests), strict=True):
        np.testing.assert_array_equal(imagined(one), frames)


def test_what_cannot_be_done_leaves_everything_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    request = question([pose(-0.3, 0.0, 0.8)], size_px=32)  # inside the arm's own base
    frames = imagined(request)
    np.testing.assert_array_equal(frames, np.repeat(frames[:1], 13, axis=0))

    def blow_up(*_: Any) -> None:
        raise UnstableError("the physics of the table became unstable")

    monkeypatch.setattr(Simulation, "move", blow_up)
    np.testing.assert_array_equal(imagined(request), frames)


def test_without_a_table_there_is_nothing_to_ask() -> None:
    request = question([pose(0.2, 0.2, 0.95)])
    assert WrongAction().spec.privileged
    for world in (None, WorldFacts("indoor", {"seed": 1})):
        with pytest.raises(NotApplicableError, match="needs the table"):
            imagined(replace(request, world=world))
    walk = Actions(LOOP_WALK, np.zeros((13, 4), np.float32))
    for actions in (None, walk):
        with pytest.raises(NotApplicableError, match=r"poses of a hand|needs actions"):
            imagined(replace(request, actions=actions))
