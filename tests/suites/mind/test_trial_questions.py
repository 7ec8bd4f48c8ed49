"""check-model in the form of mind: a walk by keys, a turn as a held key."""

import numpy as np
import pytest

from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.model import ModelSpec
from worldgauge.suites.mind.protocol import KeyQuestions

QUESTIONS = KeyQuestions()


@pytest.mark.parametrize("start", QUESTIONS.starts)
def test_the_future_walks_and_then_turns(start: int) -> None:
    asked = QUESTIONS.question(ModelSpec("m"), start=start, context=24, horizon=16, seed=1)
    assert (len(asked.context), asked.horizon, asked.context.clip.fps) == (24, 16, 24)
    assert asked.actions is not None
    walking, looking = asked.actions.values[:, :4].any(axis=1), asked.actions.values[:, 4:].any(axis=1)
    assert walking.any()
    assert looking.any()


@pytest.mark.parametrize(("turn", "key"), [(0.1, "look_left"), (-0.1, "look_right")])
def test_a_turn_is_a_held_key(turn: float, key: str) -> None:
    asked = QUESTIONS.question(ModelSpec("m"), start=200, context=3, horizon=4, seed=1, turn=turn)
    assert asked.actions is not None
    assert asked.actions.column(key).tolist() == [1] * 4
    assert asked.actions.values.sum() == 4
    along = QUESTIONS.question(ModelSpec("m", control="camera"), start=200, context=3, horizon=4, seed=1, turn=turn)
    assert along.poses is not None
    yaw, _ = yaw_pitch_from_pose(along.poses)
    assert np.degrees(np.diff(yaw)) == pytest.approx(np.sign(turn) * np.ones(3))


def test_the_walk_is_long_enough_for_every_check() -> None:
    assert QUESTIONS.frames >= max(QUESTIONS.starts) + 100
