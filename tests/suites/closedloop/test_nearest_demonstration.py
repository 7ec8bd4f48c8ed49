"""`nearest-demonstration`: a recorded outcome finds itself, and what cannot be answered is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suites.closedloop.training_data import demonstrations_data as fx
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect
from worldgauge.metrics.pixel import psnr
from worldgauge.suites.closedloop.models import NearestDemonstration
from worldgauge.suites.closedloop.training_data.demonstration import Demonstration, load_demonstrations
from worldgauge.worlds.tabletop.pose_plans import as_actions

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
    assert spec.inputs == frozenset()
    assert spec.settings == NearestDemonstration(str(folder) + "/").spec.settings


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
    for context in (
        replace(request.context, camera=wide),
        replace(request.context, poses=request.context.poses + np.eye(4, k=3) * 0.01),
    ):
        with pytest.raises(NotApplicableError, match="another camera"):
            imagined(folder, replace(request, context=context))
    for actions in (None, Actions(LOOP_WALK, np.zeros((3, 4), np.float32))):
        with pytest.raises(NotApplicableError, match=r"poses of a hand|needs actions"):
            imagined(folder, replace(request, actions=actions))
    with pytest.raises(DataError, match="holds no demonstration"):
        NearestDemonstration(str(tmp_path))
    with pytest.raises(DataError, match="no such folder"):
        NearestDemonstration(str(tmp_path / "nowhere"))
