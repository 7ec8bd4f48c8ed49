"""Episodes and contexts: what is handed over lines up, frame by frame."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.video import Clip

N = 12
CAMERA = Camera.from_vertical_fov(8, 6, 75)


def episode(n: int = N, poses: int | None = None, actions: int | None = None) -> Episode:
    """Frame t is grey t, pose t stands at x = t, row t of the actions holds t."""
    frames = np.broadcast_to(np.arange(n, dtype=np.uint8)[:, None, None, None], (n, 6, 8, 3))
    xs = np.arange(n if poses is None else poses, dtype=float)
    rows = np.arange(max(n - 1, 0) if actions is None else actions, dtype=np.float32)
    return Episode(
        id="x",
        clip=Clip.from_array(frames, fps=20),
        poses=pose_from_yaw_pitch(np.stack([xs, 0 * xs, 0 * xs], -1), 0 * xs),
        actions=Actions(LOOP_WALK, np.repeat(rows[:, None], 4, axis=1)),
        camera=CAMERA,
    )


def frames_of(context: Context) -> list[int]:
    """The numbers of its frames, after checking that poses, actions and depth say the same."""
    numbers = [int(frame[0, 0, 0]) for frame in context.clip]
    assert context.poses[:, 0, 3].tolist() == numbers
    assert context.actions.column("forward").tolist() == numbers[:-1]
    if context.depth is not None:
        assert [int(context.depth(i)[0, 0]) for i in range(len(context))] == numbers
    return numbers


def depth(index: int) -> np.ndarray:
    return np.full((6, 8), index, np.float32)


def test_lengths_must_agree() -> None:
    assert len(episode()) == N
    for wrong in ({"poses": N - 1}, {"actions": N}, {"actions": N - 2}):
        with pytest.raises(DataError, match="12 frames need 12 poses and 11 actions"):
            episode(**wrong)
    assert len(episode(1)) == 1


@given(st.integers(0, N), st.integers(0, N), st.integers(0, N + 3), st.booleans())
def test_contexts_line_up(start: int, stop: int, last: int, with_depth: bool) -> None:
    context = episode().context(start, stop)
    if with_depth:
        context = replace(context, depth=lambda i: depth(start + i))
    expected = list(range(start, stop))
    assert frames_of(context) == expected
    assert frames_of(context.last(last)) == (expected[-last:] if last else [])


def test_resizing_keeps_the_view_and_drops_depth() -> None:
    context = replace(episode().context(2, 6), depth=depth)
    small = context.resized(4, 3)
    assert (small.clip.width, small.clip.height) == (4, 3)
    assert small.camera == CAMERA.resized(4, 3)
    assert small.depth is None
    assert frames_of(small) == [2, 3, 4, 5]
    assert context.resized(8, 6) is context


def test_cropping_keeps_the_rays_of_the_middle() -> None:
    context = replace(episode().context(2, 6), depth=depth)
    square = context.cropped(1, 1)
    assert (square.clip.width, square.clip.height) == (square.camera.width, square.camera.height) == (6, 6)
    np.testing.assert_allclose(square.camera.rays(), CAMERA.rays()[:, 1:7])
    assert frames_of(Context(square.clip, square.poses, square.actions, square.camera)) == [2, 3, 4, 5]
