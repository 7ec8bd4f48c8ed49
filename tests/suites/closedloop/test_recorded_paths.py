"""Pieces of recorded paths: dynamic time warping against a recursion, and by hand."""

from functools import cache

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.models import GRIP_M, MOVED_M, TURN_M_RAD, RecordedPaths
from worldgauge.suites.closedloop.training_data.demonstration import Demonstration


def recorded(hand: FloatArray, reached: tuple[int, ...] | None = None) -> Demonstration:
    n = len(hand)
    return Demonstration(
        id="push_buttons/000000",
        task="push_buttons",
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
    assert other.cost_m == pytest.approx(5 * 0.3)
    assert len(paths.nearest(line(0.0), 1)) == 1


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
