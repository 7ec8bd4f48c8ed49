"""The baseline of one frame on a floor and a wall: by hand, beside `hedge`, and without memory."""

import dataclasses

import numpy as np
import pytest

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, TellsPath, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.metrics.psnr_ssim import mse
from worldgauge.models.baselines.planar import EYE_M, Planar
from worldgauge.models.baselines.trivial import Hedge
from worldgauge.suites.mind.actions import walk_look

CAMERA = Camera.from_horizontal_fov(128, 72, 90.0)


def request_of(frames: np.ndarray, positions: list[list[float]], yaws: list[float]) -> RolloutRequest:
    """The camera stands at the origin in each context frame, and then goes to `positions`."""
    space = walk_look(1.0, 2.0)
    at = pose_from_yaw_pitch(np.zeros((len(frames), 3)), np.zeros(len(frames)))
    actions = Actions(space, np.zeros((len(frames) - 1, len(space)), np.float32))
    context = Context(Clip.from_array(frames, 100.0), at, actions, CAMERA)
    poses = pose_from_yaw_pitch(np.array(positions), np.array(yaws))
    return RolloutRequest(context, len(poses), 0, poses=poses)


def frames_of(model: Planar | Hedge, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def row_of_floor(metres: float) -> float:
    return CAMERA.fy * EYE_M / metres + CAMERA.cy - 0.5


def test_the_floor_comes_nearer() -> None:
    frames = np.zeros((2, 72, 128, 3), np.uint8)
    line = round(row_of_floor(6.0))
    frames[:, line - 1 : line + 2] = 255
    found = frames_of(Planar(), request_of(frames, [[0, 0, 0], [1, 0, 0], [3, 0, 0]], [0, 0, 0]))
    rows = found[:, :, 64, 0].argmax(1)
    assert np.abs(rows - [row_of_floor(metres) for metres in (6, 5, 3)]).max() <= 1.5


def test_beyond_the_frame_is_the_mean_at_the_same_elevation() -> None:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (3, 72, 128, 3), dtype=np.uint8)
    frames[:, :36] //= 4
    behind = frames_of(Planar(), request_of(frames, [[0, 0, 0]], [np.pi]))[0].astype(float)
    assert abs(behind[:30].mean() - 31.5) < 3
    assert abs(behind[42:].mean() - 127.5) < 3
    # An earlier frame with the same colours elsewhere changes nothing there: no place is remembered.
    turned = frames.copy()
    turned[0] = turned[0, :, ::-1]
    again = frames_of(Planar(), request_of(turned, [[0, 0, 0]], [np.pi]))[0].astype(float)
    assert np.abs(again - behind).max() <= 1


def test_planar_has_less_error_than_hedge(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    stop = min(len(episode), start + 24)
    request = RolloutRequest(episode.context(0, start), stop - start, 0, poses=episode.poses[start:stop])
    truth = np.stack([episode.clip[index] for index in range(start, stop)])
    errors = [
        np.mean([mse(frame, true) for frame, true in zip(frames_of(model, request), truth, strict=True)])
        for model in (Planar(), Hedge())
    ]
    assert errors[0] < errors[1]
    # Where the walk is does not matter.
    shift = np.eye(4)
    shift[:3, 3] = (7.0, -3.0, 1.0)
    context = dataclasses.replace(request.context, poses=shift @ request.context.poses)
    moved = dataclasses.replace(request, context=context, poses=shift @ request.poses)
    difference = frames_of(Planar(), request).astype(int) - frames_of(Planar(), moved)
    assert np.abs(difference).max() <= 1


def test_planar_reports_no_path_and_renders_no_panorama() -> None:
    assert not isinstance(Planar(), TellsPath)
    request = request_of(np.zeros((2, 72, 128, 3), np.uint8), [[0, 0, 0]], [0])
    context = dataclasses.replace(request.context, camera=Panorama(128, 72))
    with pytest.raises(NotApplicableError, match="renders no panoramas"):
        list(Planar().rollout(dataclasses.replace(request, context=context)))
