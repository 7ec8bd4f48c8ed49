"""Models of the suite: the nearest demonstration and the wrong action."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks._real import SEED_STEP, Wrong

from support import demonstrations_data as fx
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect
from worldgauge.metrics.psnr_ssim import psnr
from worldgauge.suites.worldinworld.format.demonstration import Demonstration, load_demonstrations
from worldgauge.suites.worldinworld.models import (
    GRIP_M,
    MOVED_M,
    TURN_M_RAD,
    Backdrop,
    NearestDemonstration,
    RecordedPaths,
    WrongAction,
    in_picture,
    mirrored,
    stops,
    transplanted,
)
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.pose_plans import as_actions, clip_plan, from_actions
from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError, front_camera, front_pose

SIZE = (96, 96)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demonstrations")
    collect("demonstrations", root, tasks=["push_buttons"], per_task=2, size=SIZE)
    return root


def question(one: Demonstration, frames: np.ndarray, *, seen: tuple[int, ...] = (0,)) -> RolloutRequest:
    """Of the table of a demonstration: what was seen in frames `seen`, and the poses of the hand in `frames`."""
    context = Context(
        Clip.from_array(np.stack(list(one.clip.take(seen))), 7.0),
        np.repeat(one.camera_pose[None], len(seen), axis=0),
        as_actions(one.hand[list(seen[1:])]),
        one.camera,
    )
    return RolloutRequest(context, len(frames), 5, actions=as_actions(one.hand[frames]))


def imagined(folder: Path, request: RolloutRequest) -> Frames:
    return np.concatenate(list(checked_rollout(NearestDemonstration(str(folder)), request)))


@pytest.mark.parametrize("number", [0, 1])
def test_what_was_recorded_is_found_and_shown(folder: Path, number: int) -> None:
    one = load_demonstrations(folder)[number]
    frames = np.linspace(0, one.reached[1], 14).astype(int)[1:]
    request = question(one, frames)
    made = imagined(folder, request)
    assert made.shape == (13, *SIZE, 3)
    real = np.stack(list(one.clip.take(frames.tolist())))
    seen = np.repeat(request.context.clip[0][None], 13, axis=0)
    # Frames between two points of the thinned path are shown as one of them.
    better = np.mean([psnr(made[k], real[k]) - psnr(seen[k], real[k]) for k in range(2, 13)])
    assert better > 3
    assert psnr(made[-1], real[-1]) > psnr(seen[-1], real[-1]) + 5


def test_a_hand_that_is_asked_behind_the_camera_goes_to_the_edge_of_the_workspace(folder: Path) -> None:
    one = load_demonstrations(folder)[0]
    request = question(one, np.arange(3))
    wild = replace(request, actions=as_actions([one.hand[0], [5.0, 0, 1, 1, 0, 0, 0, 1], [0.2, 900, 1, 1, 0, 0, 0, 1]]))
    assert imagined(folder, wild).shape == (3, *SIZE, 3)


def test_it_goes_on_from_where_the_hand_is(folder: Path) -> None:
    one = load_demonstrations(folder)[1]
    start = one.reached[1]
    frames = np.linspace(start, one.reached[-1], 14).astype(int)[1:]
    made = imagined(folder, question(one, frames, seen=(0, one.reached[0], start)))
    now, real = one.clip[start], one.clip[int(frames[-1])]
    assert psnr(made[-1], real) > psnr(now, real) + 5


def test_same_question_same_frames_and_a_batch_is_its_single_requests(folder: Path) -> None:
    requests = [
        question(one, np.linspace(0, len(one) - 1, 5).astype(int)[1:]) for one in load_demonstrations(folder)[:2]
    ]
    for request, frames in zip(requests, checked_batch(NearestDemonstration(str(folder)), requests), strict=True):
        np.testing.assert_array_equal(imagined(folder, request), frames)
        np.testing.assert_array_equal(imagined(folder, replace(request, seed=99)), frames)


def test_it_asks_for_nothing_that_a_tested_model_must_not_see(folder: Path) -> None:
    spec = NearestDemonstration(str(folder)).spec
    assert not spec.privileged
    assert (spec.inputs, spec.settings) == (frozenset(), NearestDemonstration(str(folder) + "/").spec.settings)


def test_other_demonstrations_are_another_model(folder: Path, tmp_path: Path) -> None:
    fx.written(tmp_path)
    assert NearestDemonstration(str(tmp_path)).spec.settings != NearestDemonstration(str(folder)).spec.settings


def test_demonstrations_of_another_size_are_resized(folder: Path) -> None:
    one = load_demonstrations(folder)[0]
    request = question(one, np.arange(1, 4))
    context = request.context.resized(64, 64)
    context = replace(context, clip=Clip.from_array(context.clip.to_array(), 7.0))
    assert imagined(folder, replace(request, context=context)).shape == (3, 64, 64, 3)


def test_what_cannot_be_answered_is_refused(folder: Path, tmp_path: Path) -> None:
    one = load_demonstrations(folder)[0]
    request = question(one, np.arange(1, 4))
    wide = Camera.from_vertical_fov(*SIZE, 60)
    with pytest.raises(NotApplicableError, match="another camera"):
        imagined(folder, replace(request, context=replace(request.context, camera=wide)))
    for actions in (None, Actions(LOOP_WALK, np.zeros((3, 4), np.float32))):
        with pytest.raises(NotApplicableError, match=r"poses of a hand|needs actions"):
            imagined(folder, replace(request, actions=actions))
    with pytest.raises(DataError, match="holds no demonstration"):
        NearestDemonstration(str(tmp_path))
    with pytest.raises(DataError, match="no such folder"):
        NearestDemonstration(str(tmp_path / "nowhere"))


def recorded(hand: FloatArray, reached: tuple[int, ...] | None = None) -> Demonstration:
    n = len(hand)
    return Demonstration(
        task="push_buttons",
        number=0,
        fps=10.0,
        variation=0,
        seed=1,
        instruction="push the red button",
        clip=Clip.from_array(np.zeros((n, 4, 4, 3), np.uint8), 10),
        asked=hand,
        hand=hand,
        sub_goals=hand[-1:],
        reached=reached or (n - 1,),
        things=(),
        places=np.zeros((n, 0, 3)),
        progress=np.ones(n),
        camera=Camera.from_vertical_fov(4, 4, 40),
        camera_pose=np.eye(4),
        world=WorldFacts("tabletop", {}),
    )


def hands(places: FloatArray, gripper: float = 1.0) -> FloatArray:
    n = len(places)
    return np.column_stack([places, np.tile((1.0, 0, 0, 0), (n, 1)), np.full(n, gripper)])


def line(x: float, n: int = 10, step: float = 0.05) -> FloatArray:
    """Along y, at some x."""
    return hands(np.column_stack([np.full(n, x), np.arange(n) * step, np.ones(n)]))


def test_a_part_of_a_path_finds_itself() -> None:
    paths = RecordedPaths([recorded(line(0.3)), recorded(line(0.0))])
    nearest, other = paths.nearest(line(0.0)[3:8], 5)
    assert (nearest.demonstration, nearest.frames) == (1, (3, 4, 5, 6, 7))
    assert nearest.cost_m == pytest.approx(0)
    assert (other.demonstration, other.frames) == (0, (3, 4, 5, 6, 7))
    assert (other.cost_m, len(paths.nearest(line(0.0), 1))) == (pytest.approx(5 * 0.3), 1)


def test_the_way_back_is_another_one() -> None:
    there, back = line(0.0), line(0.02)[::-1]
    paths = RecordedPaths([recorded(there), recorded(back)])
    assert [paths.nearest(path, 1)[0].demonstration for path in (there + 1e-4, there[::-1])] == [0, 1]


def test_turns_and_the_gripper_count() -> None:
    one = line(0.0, 1)
    closed, turned = one.copy(), one.copy()
    closed[0, 7] = 0
    turned[0, 3:7] = (np.cos(0.5), np.sin(0.5), 0, 0)  # about z by a radian
    paths = RecordedPaths([recorded(one)])
    assert paths.nearest(closed, 1)[0].cost_m == pytest.approx(GRIP_M)
    assert paths.nearest(turned, 1)[0].cost_m == pytest.approx(TURN_M_RAD)
    turned[0, 3:7] *= -1  # the same rotation
    assert paths.nearest(turned, 1)[0].cost_m == pytest.approx(TURN_M_RAD)


def test_where_a_hand_stands_still_it_has_one_point_unless_it_did_something() -> None:
    still = np.repeat(line(0.0, 2, step=2 * MOVED_M), 4, axis=0)
    piece = RecordedPaths([recorded(still)]).nearest(line(0.0, 2, step=2 * MOVED_M), 1)[0]
    assert piece.frames == (0, 7), "of where it stands the last point: what it does there shows in the end"
    closing = still.copy()
    closing[3:, 7] = 0
    path = closing[[0, 3, 7]]
    assert RecordedPaths([recorded(closing, (3, 7))]).nearest(path, 1)[0].frames == (0, 3, 7)


def test_against_the_recursion() -> None:
    rng = np.random.default_rng(4)
    demonstrations = [recorded(hands(rng.uniform(0, 1, (n, 3)))) for n in (3, 9, 5)]
    path = hands(rng.uniform(0, 1, (4, 3)))
    for piece in RecordedPaths(demonstrations).nearest(path, 3):
        hand = demonstrations[piece.demonstration].hand
        apart = np.linalg.norm(path[:, None, :3] - hand[None, :, :3], axis=-1)

        @cache
        def least(n: int, t: int, apart: bytes = apart.tobytes(), width: int = len(hand)) -> float:
            here = float(np.frombuffer(apart).reshape(-1, width)[n, t])
            if n == 0:
                return here
            before = [least(n - 1, t)] + ([least(n - 1, t - 1), least(n, t - 1)] if t else [])
            return here + min(before)

        assert piece.cost_m == pytest.approx(min(least(3, t) for t in range(len(hand))))
        assert list(piece.frames) == sorted(piece.frames)


SIDE = 100


TABLE, ARM, THING, LIT = (180, 150, 120), (250, 250, 250), (200, 30, 30), (30, 30, 200)


def picture(arm: tuple[int, int] | None = None, **things: tuple[int, int, tuple[int, int, int]]) -> Frames:
    """A table; arm: column and row of the lower end of a bar from the upper edge. things: column, row, colour."""
    seen = np.full((SIDE, SIDE, 3), TABLE, np.uint8)
    for column, row, colour in things.values():
        seen[row - 4 : row + 4, column - 4 : column + 4] = colour
    if arm is not None:
        column, row = arm
        seen[:row, column - 5 : column + 5] = ARM
    return seen


HOME = (50, 15)


AWAY = [picture(arm=(column, 60)) for column in (10, 30, 70, 90)]


BACKDROP = Backdrop.of([picture(HOME)] * 3, AWAY)


def at(*places: tuple[int, int], depth: float = 1.0) -> np.ndarray:
    return np.array([(column, row, depth) for column, row in places])


def test_the_backdrop_takes_the_arm_away_and_leaves_things() -> None:
    assert BACKDROP.covered[5, 50]
    assert not BACKDROP.covered[60].any()
    start = picture(HOME, thing=(20, 60, THING))
    np.testing.assert_array_equal(BACKDROP.cleared(start), picture(thing=(20, 60, THING)))
    hidden = picture(HOME)
    hidden[8:14, 45:55] = THING  # hangs where the arm would be
    assert (BACKDROP.cleared(hidden)[8:14, 45:55] == THING).all()


def test_the_arm_comes_to_where_it_is_asked_to_be() -> None:
    recording = [picture(HOME), picture(HOME), picture((30, 40)), picture((30, 60))]
    seen = picture(HOME, other=(80, 80, THING))
    was, asked = at(HOME, (30, 40), (30, 60)), at(HOME, (40, 45), (42, 60))
    frames = list(transplanted(BACKDROP, seen, seen, recording, asked, was))
    for frame, end in zip(frames, ((40, 45), (42, 60)), strict=True):
        np.testing.assert_array_equal(frame, picture(end, other=(80, 80, THING)))


def test_what_was_done_stays_where_it_was_done() -> None:
    """A thing lights up under the hand, and keeps its place when the hand goes on with another shift."""
    lit = picture((70, 40), thing=(20, 70, LIT))
    recording = [picture(HOME, thing=(20, 70, THING)), picture(HOME, thing=(20, 70, THING))]
    recording += [picture((20, 55), thing=(20, 70, THING)), lit]
    seen = picture(HOME, thing=(32, 73, THING))
    was, asked = at(HOME, (20, 55), (70, 40)), at(HOME, (32, 58), (60, 45))
    _, last = transplanted(BACKDROP, seen, seen, recording, asked, was)
    np.testing.assert_array_equal(last, picture((60, 45), thing=(32, 73, LIT)))


def test_what_had_changed_before_is_not_pasted() -> None:
    lit = {"thing": (20, 70, LIT)}
    recording = [picture(HOME, thing=(20, 70, THING)), picture((70, 40), **lit), picture((75, 50), **lit)]
    start, now = picture(HOME), picture((70, 40))
    was = asked = at((70, 40), (75, 50))
    (frame,) = transplanted(BACKDROP, start, now, recording, asked, was)
    np.testing.assert_array_equal(frame, picture((75, 50)))


def test_the_arm_that_is_there_leaves_its_place() -> None:
    start, now = picture(HOME, thing=(70, 80, THING)), picture((68, 40), thing=(70, 80, LIT))
    recording = [picture(HOME), picture((70, 42)), picture((30, 50))]
    was, asked = at((70, 42), (30, 50)), at((68, 40), (30, 50))
    (frame,) = transplanted(BACKDROP, start, now, recording, asked, was)
    np.testing.assert_array_equal(frame, picture((30, 50), thing=(70, 80, LIT)))


def test_what_comes_nearer_is_larger() -> None:
    recording = [picture(HOME), picture(HOME), picture((50, 40))]
    asked, was = at(HOME, (50, 40)), np.array([(*HOME, 1.0), (50, 40, 1.5)])
    (frame,) = transplanted(BACKDROP, picture(HOME), picture(HOME), recording, asked, was)
    assert 14 <= (frame[20] == ARM).all(axis=-1).sum() <= 16, "1.5 times 10, less its soft edges"


def test_places_in_a_picture() -> None:
    camera = Camera.from_vertical_fov(100, 100, 90)
    eye = pose_from_yaw_pitch((1.0, 2.0, 3.0), 0.0)  # looks along x
    found = in_picture(np.array([[3.0, 2.0, 3.0], [3.0, 1.0, 4.0]]), camera, eye)
    np.testing.assert_allclose(found, [[50, 50, 2], [75, 25, 2]], atol=1e-9)


WORLD = WorldFacts("tabletop", {"task": "push_buttons", "variation": 1, "seed": 3})


HOME_WRONG_ACTION = np.array([0.0, 0.0, 1.237, 1, 0, 0, 0, 1])


DOWN = (1.0, 0.0, 0.0, 0.0)


def pose(x: float, y: float, z: float, gripper: float = 0.0) -> list[float]:
    return [x, y, z, *DOWN, gripper]


def question_of_wrong_action(
    goals: list[list[float]], *, size_px: int = 64, world: WorldFacts = WORLD
) -> RolloutRequest:
    """A plan from home, over 14 frames."""
    camera, eye = front_camera(size_px), front_pose()[None]
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    seen = Clip.from_array(simulation.rgb(eye[0], camera)[None], 7.0)
    poses = clip_plan(simulation.hand, np.array(goals), 14).poses[1:]
    context = Context(seen, eye, as_actions(np.empty((0, 8))), camera)
    return RolloutRequest(context, 13, 5, actions=as_actions(poses), world=world)


def imagined_of_wrong_action(request: RolloutRequest) -> Frames:
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
    request = question_of_wrong_action([pose(0.2, 0.3, 0.9)])
    assert request.actions is not None
    shown = np.concatenate(list(checked_rollout(Wrong("another world"), request)))
    other = Simulation(Tabletop("push_buttons", 1, 3 + SEED_STEP))
    other.move(from_actions(request.actions)[-1])
    np.testing.assert_array_equal(shown[-1], other.rgb(front_pose(), front_camera(64)))


def test_the_mirror_stays_in_the_workspace():
    # As 32-bit numbers, which actions are, the workspace's own corners lie outside it.
    corner = np.array([*np.array([0.7, -0.5, 1.6], np.float32) * np.float32(1.000001), *DOWN, 0])
    assert mirrored(corner)[:3].tolist() == [0.7, 0.5, 1.6]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 13])
def test_stops_are_the_anchors_of_a_plan(n: int) -> None:
    rng = np.random.default_rng(n)
    goals = np.array([pose(*rng.uniform((0, -0.4, 0.8), (0.4, 0.4, 1.2)), gripper=k % 2) for k in range(n)])
    told = clip_plan(HOME_WRONG_ACTION, goals, 14)
    way = np.vstack([HOME_WRONG_ACTION, from_actions(as_actions(told.poses[1:]))])
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
    frames = imagined_of_wrong_action(question_of_wrong_action(goals))
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
    frames = imagined_of_wrong_action(question_of_wrong_action([pose(0.3, 0.0, 0.9)]))
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    simulation.move(pose(0.3, 0.0, 0.9))
    assert np.abs(frames[-1] - simulation.rgb(front_pose(), front_camera(64)).astype(int)).mean() < 0.1


def test_it_starts_from_the_table_as_it_is_now() -> None:
    simulation = Simulation(Tabletop("push_buttons", 1, 3))
    simulation.move(pose(0.2, 0.3, 0.9))
    now = replace(WORLD, params={**WORLD.params, "state": simulation.state().plain()})
    request = question_of_wrong_action([pose(0.2, 0.3, 0.9)])
    early, late = imagined_of_wrong_action(request)[0], imagined_of_wrong_action(replace(request, world=now))[0]
    assert np.abs(early.astype(int) - late).mean() > 1


def test_a_batch_is_its_single_requests() -> None:
    requests = [
        question_of_wrong_action([pose(0.2, 0.2, 0.95)], size_px=32),
        question_of_wrong_action([pose(0.3, -0.1, 0.85)], size_px=32),
    ]
    for one, frames in zip(requests, checked_batch(WrongAction(), requests), strict=True):
        np.testing.assert_array_equal(imagined_of_wrong_action(one), frames)


def test_what_cannot_be_done_leaves_everything_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    request = question_of_wrong_action([pose(-0.3, 0.0, 0.8)], size_px=32)  # inside the arm's own base
    frames = imagined_of_wrong_action(request)
    np.testing.assert_array_equal(frames, np.repeat(frames[:1], 13, axis=0))

    def blow_up(*_: Any) -> None:
        raise UnstableError("the physics of the table became unstable")

    monkeypatch.setattr(Simulation, "move", blow_up)
    np.testing.assert_array_equal(imagined_of_wrong_action(request), frames)


def test_without_a_table_there_is_nothing_to_ask() -> None:
    request = question_of_wrong_action([pose(0.2, 0.2, 0.95)])
    assert WrongAction().spec.privileged
    for world in (None, WorldFacts("indoor", {"seed": 1})):
        with pytest.raises(NotApplicableError, match="needs the table"):
            imagined_of_wrong_action(replace(request, world=world))
    walk = Actions(LOOP_WALK, np.zeros((13, 4), np.float32))
    for actions in (None, walk):
        with pytest.raises(NotApplicableError, match=r"poses of a hand|needs actions"):
            imagined_of_wrong_action(replace(request, actions=actions))
