"""Baselines that know where they look from: the poses they tell are those that they draw."""

import dataclasses

import numpy as np
import pytest

from worldgauge.core.episode import Episode
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Panorama, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.model import RolloutRequest, TellsPath
from worldgauge.models import models
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.worlds import open_world

TELLING = ("truth", "reencoded", "late", "render", "drift", "ahead", "freeze")


def ask(name: str, walk: tuple[Episode, int], horizon: int = 4, context: int | None = 16, **settings: object):
    """The model and a request to it, of `horizon` frames of the walk."""
    episode, start = walk
    model = models.get(name)(**settings)
    request = make_request(episode, start, model.spec, LoopNavSettings(context=context), seed=5)
    truth = None if request.truth is None else request.truth[:horizon]
    poses = None if request.poses is None else request.poses[:horizon]
    known = episode.poses[start : start + horizon] if truth is not None else None
    return model, dataclasses.replace(request, horizon=horizon, truth=truth, poses=poses, truth_poses=known)


@pytest.mark.parametrize("name", TELLING)
def test_frames_are_drawn_from_the_poses_that_are_told(name: str, walk: tuple[Episode, int]) -> None:
    model, request = ask(name, walk)
    assert isinstance(model, TellsPath)
    path = model.camera_path(request)
    assert path.shape == (4, 4, 4)
    frames = np.concatenate(list(model.rollout(request)))
    world = open_world(walk[0].world)
    drawn = np.stack([world.view(pose, request.context.camera).rgb for pose in path])
    # What was recorded passed a lossy codec.
    tolerance = 12 if name in ("truth", "reencoded", "late", "freeze") else 0
    assert np.abs(frames.astype(int) - drawn).mean() <= tolerance


@pytest.mark.parametrize("name", ["render", "drift", "ahead"])
def test_without_a_world_there_is_neither_path_nor_video(name: str, walk: tuple[Episode, int]) -> None:
    model, request = ask(name, walk)
    bare = dataclasses.replace(request, world=None)
    assert model.camera_path(bare) is None
    with pytest.raises(NotApplicableError, match="published recordings have none"):
        list(model.rollout(bare))


@pytest.mark.parametrize("name", ["truth", "reencoded", "late"])
def test_truth_tells_only_what_it_was_told(name: str, walk: tuple[Episode, int]) -> None:
    model, request = ask(name, walk)
    assert model.camera_path(dataclasses.replace(request, truth_poses=None)) is None


def test_paths_of_render_and_late(walk: tuple[Episode, int]) -> None:
    # Render goes exactly where it is asked to.
    model, request = ask("render", walk)
    np.testing.assert_array_equal(model.camera_path(request), request.poses)
    # Late is where it was a frame ago.
    model, request = ask("late", walk)
    path = model.camera_path(request)
    np.testing.assert_array_equal(path[0], request.context.poses[-1])
    np.testing.assert_array_equal(path[1:], request.truth_poses[:-1])


@pytest.mark.parametrize("name", ["memory", "memory-plane"])
def test_a_memory_looks_from_where_it_is_asked_to(name: str, walk: tuple[Episode, int]) -> None:
    model, request = ask(name, walk)
    np.testing.assert_array_equal(model.camera_path(request), request.poses)


@pytest.mark.parametrize(("name", "view"), [("hedge", "perspective"), ("roll", "perspective"), ("roll", "panorama")])
def test_a_baseline_that_only_turns_reports_one_place(name: str, view: str, walk: tuple[Episode, int]) -> None:
    model, request = ask(name, walk, **({"view": "perspective"} if name == "roll" else {}))
    model = models.get("roll")(view=view) if name == "roll" else model
    camera = Panorama(64, 32) if view == "panorama" else request.context.camera
    tilted = np.stack([pose_from_yaw_pitch(pose[:3, 3], 0.1 * k, 0.3) for k, pose in enumerate(request.poses)])
    request = dataclasses.replace(
        request, poses=tilted, context=dataclasses.replace(request.context, camera=camera, depth=None)
    )
    path = model.camera_path(request)
    assert not distances(request, path).any()
    yaw, pitch = yaw_pitch_from_pose(path)
    np.testing.assert_allclose(yaw, [0, 0.1, 0.2, 0.3], atol=1e-9)
    kept = yaw_pitch_from_pose(request.context.poses[-1])[1] if view == "panorama" else 0.3
    np.testing.assert_allclose(pitch, kept, atol=1e-9)


def test_what_shows_nothing_of_the_path_reports_none(walk: tuple[Episode, int]) -> None:
    model, request = ask("degraded", walk, level=1)
    assert model.camera_path(request) is None
    half, _ = ask("degraded", walk, level=0.5)
    np.testing.assert_array_equal(half.camera_path(request), request.truth_poses)


@pytest.mark.parametrize("name", ["forgetful", "noise", "mean"])
def test_who_is_nowhere_tells_no_path(name: str, walk: tuple[Episode, int]) -> None:
    model, _ = ask(name, walk)
    assert not isinstance(model, TellsPath)


def distances(request: RolloutRequest, path: np.ndarray) -> np.ndarray:
    return np.linalg.norm(path[:, :3, 3] - request.context.poses[-1][:3, 3], axis=1)


def test_paths_of_ahead(walk: tuple[Episode, int]) -> None:
    # Ahead keeps heading height and the speed of its context.
    model, request = ask("ahead", walk)
    path, last = model.camera_path(request), request.context.poses[-1]
    assert (path[:, 2, 3] == last[2, 3]).all()
    np.testing.assert_allclose(yaw_pitch_from_pose(path)[0], yaw_pitch_from_pose(last)[0])
    shown = request.context.poses[:, :2, 3]
    step = np.linalg.norm(shown[-1] - shown[0]) / (len(shown) - 1)
    np.testing.assert_allclose(distances(request, path), step * np.arange(1, 5), atol=1e-12)
    # Ahead walks at half a metre a second where it is shown one frame.
    model, request = ask("ahead", walk, context=1)
    assert distances(request, model.camera_path(request))[-1] == pytest.approx(4 * 0.5 / 20)
    model, request = ask("ahead", walk, context=1, speed_mps=2)
    assert distances(request, model.camera_path(request))[-1] == pytest.approx(4 * 2 / 20)
    assert model.spec.settings == {"speed_mps": 2}
    with pytest.raises(UsageError, match="speed_mps"):
        models.get("ahead")(speed_mps=-1)
