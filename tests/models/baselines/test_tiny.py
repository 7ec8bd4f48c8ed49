"""The shipped network: that it obeys, and beats a still picture. Its layers are held in tests/nets."""

import io
from pathlib import Path

import cv2
import numpy as np
import pytest

from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.models.baselines import tiny
from worldgauge.models.baselines.tiny import TinyModel


def asked(walk: tuple[Episode, int], values: np.ndarray) -> RolloutRequest:
    episode, start = walk
    context = episode.context(start - 8, start).resized(64, 36)
    return RolloutRequest(context, len(values), 3, actions=Actions(LOOP_WALK, values.astype(np.float32)))


def drawn(request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(TinyModel(), request)))


def test_a_longer_answer_begins_with_the_shorter(walk: tuple[Episode, int]) -> None:
    values = np.tile([1, 0, 0.05, 0], (10, 1))
    frames = drawn(asked(walk, values))
    assert frames.shape == (10, 36, 64, 3)
    np.testing.assert_array_equal(frames, drawn(asked(walk, values)))
    np.testing.assert_array_equal(frames[:8], drawn(asked(walk, values[:8])))


@pytest.mark.parametrize(("yaw", "side"), [(0.06, 1), (-0.06, -1)])
def test_a_turn_to_the_left_moves_the_picture_to_the_right(walk: tuple[Episode, int], yaw: float, side: int) -> None:
    request = asked(walk, np.tile([0, 0, yaw, 0], (4, 1)))
    before, after = (
        cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
        for frame in (request.context.clip[-1], drawn(request)[-1])
    )
    flow = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 2, 15, 3, 5, 1.1, 0)  # type: ignore[call-overload]
    assert side * np.median(flow[..., 0]) > 1


def test_one_picture_and_actions_without_a_camera(walk: tuple[Episode, int]) -> None:
    # One picture is context enough.
    episode, start = walk
    context = episode.context(start - 1, start).resized(64, 36)
    request = RolloutRequest(context, 4, 3, actions=Actions(LOOP_WALK, np.zeros((4, 4), np.float32)))
    assert np.abs(drawn(request).astype(int) - context.clip[0]).mean() < 6
    # Actions that move no camera are not its own.
    context = asked(walk, np.zeros((1, 4))).context
    still = Context(context.clip, context.poses, Actions(HAND_POSES, np.zeros((7, 7), np.float32)), context.camera)
    with pytest.raises(NotApplicableError, match="move no camera"):
        list(
            TinyModel().rollout(RolloutRequest(still, 1, 0, actions=Actions(HAND_POSES, np.zeros((1, 7), np.float32))))
        )


def test_a_damaged_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for damaged in (b"", b"no archive", io.BytesIO().getvalue()):
        (tmp_path / tiny.FILE).write_bytes(damaged)
        monkeypatch.setattr(tiny, "files", lambda package: tmp_path)
        tiny._shipped.cache_clear()
        with pytest.raises(DataError, match=r"tiny\.npz.*install worldgauge again"):
            TinyModel()
    tiny._shipped.cache_clear()


def test_the_first_second_is_better_than_a_still_picture(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    errors = []
    for at in range(max(9, start - 40), start, 8):
        truth = Clip.from_array(episode.clip[at : at + 20].to_array(), 20.0).resized(64, 36).to_array().astype(float)
        request = asked((episode, at), episode.actions.values[at - 1 : at + 19])
        still = np.square(request.context.clip[-1].astype(float) - truth).mean()
        errors.append([np.square(drawn(request) - truth).mean(), still])
    learned, still = np.mean(errors, axis=0)
    assert learned < 0.8 * still
