"""What a suite that overrides nothing asks of a model."""

from collections.abc import Iterator

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.core.actions import LOOP_WALK, Actions, Control
from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task

N, START = 6, 2


class Walks(Suite):
    """One walk: two steps forward, then a quarter turn to the left in three steps."""

    name = "walks"

    def episode(self, task: Task) -> tuple[Episode, int]:
        rows = np.zeros((N - 1, len(LOOP_WALK)), np.float32)
        rows[:2, LOOP_WALK.column("forward")] = 1
        rows[2:, LOOP_WALK.column("camera_yaw")] = np.pi / 6
        clip = Clip.from_array(np.zeros((N, 36, 64, 3), np.uint8), fps=20)
        poses = pose_from_yaw_pitch(np.zeros((N, 3)), np.zeros(N))
        return Episode("x", clip, poses, Actions(LOOP_WALK, rows), Camera.from_vertical_fov(64, 36, 75)), START


class Listens:
    """Keeps what it is asked."""

    def __init__(self, control: Control) -> None:
        self.spec = ModelSpec("listens", control=control)
        self.asked: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.asked.append(request)
        yield np.zeros((request.horizon, 36, 64, 3), np.uint8)


@pytest.mark.parametrize("control", ["actions", "camera", "text"])
def test_a_model_gets_every_form_of_the_future_and_poses_if_driven_by_them(
    control: Control, task_context: QuietContext
) -> None:
    model = Listens(control)
    record = Walks().perform(Task("walks", "x", {}, "x"), model, task_context)
    (request,) = model.asked
    assert request.actions is not None
    assert len(request.actions) == N - START
    assert (request.poses is not None) == (control == "camera")
    assert (request.context.poses is not None) == (control == "camera")
    assert request.text == "Walk forward 0.2 metres, then turn left 90 degrees."
    assert record.facts["caption"] is None is request.caption


def test_words_say_what_is_done_after_the_last_frame_that_is_shown(task_context: QuietContext) -> None:
    model = Listens("text")
    Walks().perform(Task("walks", "x", {}, "x"), model, task_context)
    assert model.asked[0].text == "Walk forward 0.2 metres, then turn left 90 degrees."


def test_a_record_tells_how_many_frames_were_made_where_more_were_than_asked_for(task_context: QuietContext) -> None:
    model = Listens("actions")
    model.spec = ModelSpec("listens", lengths="8n+1")
    record = Walks().perform(Task("walks", "x", {}, "x"), model, task_context)
    assert (record.facts["frames_generated"], record.facts["frames_made"]) == (N - START, 8)
    assert [one.horizon for one in model.asked] == [8]
    assert "frames_made" not in Walks().perform(Task("walks", "x", {}, "x"), Listens("actions"), task_context).facts


def test_the_rate_of_a_task_is_that_of_its_recording() -> None:
    assert Walks().rates(Task("walks", "x", {}, "x")) == {20.0}


def test_a_suite_without_recordings_says_so_instead_of_breaking_its_report() -> None:
    with pytest.raises(DataError, match="suite 'bare' shows no recording"):
        type("Bare", (Suite,), {"name": "bare"})().task_view(Task("bare", "x", {}, "x"))
