"""Rules of lengths: worked by hand, against counting, and what cannot be meant; answers of several calls."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worldgauge_serve import (
    Actions,
    ActionSpace,
    Axis,
    Camera,
    Clip,
    Context,
    Prompt,
    Request,
    continued,
    last_length,
    next_length,
    resting,
)

WALK = ActionSpace("walk", (Axis("ahead", "button", (1, 0, 0, 0, 0)), Axis("jump", "button", (0,) * 5)), 20.0)
ARM = ActionSpace("arm", (Axis("x", "length", (0,) * 5), Axis("gripper", "button", (0,) * 5)), 20.0)

RULES: dict[Any, list[int]] = {
    "4n+1": [1, 5, 9, 13, 17, 21, 25, 29, 33, 37],
    "57+40n": [57, 97, 137],
    "8n+1 to 25": [1, 9, 17, 25],
    "16n": [16, 32, 48, 64],
    "13+16n to 45": [13, 29, 45],
    (49, 81): [49, 81],
    (121,): [121],
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_against_counting(rule: Any) -> None:
    allowed = RULES[rule]
    ends = isinstance(rule, tuple) or " to " in rule
    for frames in range(1, allowed[-1] + 1):
        assert next_length(rule, frames) == min(one for one in allowed if one >= frames)
        assert last_length(rule, frames) == max((one for one in allowed if one <= frames), default=None)
    beyond = next_length(rule, allowed[-1] + 1)
    assert (beyond is None) == ends
    if ends:
        assert last_length(rule, 10**6) == allowed[-1]


def test_calls_by_hand_and_their_answers() -> None:
    assert (next_length("4n+1", 61), next_length("4n+1", 62)) == (61, 65)
    assert (next_length("57+40n", 98), last_length("57+40n", 136)) == (137, 97)
    assert last_length("57+40n", 56) is None
    assert next_length("8n+1 to 961", 962) is None
    assert (next_length(None, 7), last_length(None, 7)) == (7, 7)
    request = asked(10)
    seen, frames = parts_of(request, "4n+1 to 9")
    assert [part.horizon for part in seen] == [8, 4]
    assert frames[:, 0, 0, 0].tolist() == list(range(100, 110))
    assert seen[0].context is request.context
    after = seen[1].context
    assert after.clip.to_array()[:, 0, 0, 0].tolist() == [106, 107]
    assert after.poses[:, 0, 3].tolist() == [7, 8]
    assert after.actions.values.tolist() == [[15, 16]], "the step from the one frame to the other"
    assert seen[1].actions.values.tolist() == [[17, 18], [19, 20], [0, 0], [0, 0]]
    assert seen[1].poses[:, 0, 3].tolist() == [9, 10, 10, 10]
    assert {part.caption for part in seen} == {"A room."}
    assert len({part.seed for part in seen}) == 2


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_an_allowed_length_stays(rule: Any) -> None:
    for frames in RULES[rule]:
        assert next_length(rule, frames) == last_length(rule, frames) == frames


@pytest.mark.parametrize(
    "rule",
    ["", "n", "0n+1", "4n-1", "4n+1 to", "57+40", "57+0n", "9n+9 to 5", "4N+1", [], (0,), (4.0,), (True,), 81, {}],
)
def test_what_cannot_be_meant_is_said(rule: Any) -> None:
    for ask in (next_length, last_length):
        with pytest.raises(ValueError, match=r"give a rule such as '4n\+1', '57\+40n' or '8n\+1 to 961', or numbers"):
            ask(rule, 5)


def asked(horizon: int, space: ActionSpace = WALK) -> Request:
    values = np.arange(1, 1 + horizon * 2, dtype=np.float32).reshape(-1, 2)
    poses = np.tile(np.eye(4), (horizon + 3, 1, 1))
    poses[:, 0, 3] = np.arange(-2, horizon + 1)
    clip = Clip(np.arange(3, dtype=np.uint8).reshape(3, 1, 1, 1).repeat(3, axis=3), 20.0)
    context = Context(clip, poses[:3], Actions(space, -np.ones((2, 2), np.float32)), Camera(1, 1))
    return Request(context, horizon, 7, Actions(space, values), poses[3:], "Go.", "A room.", task="t")


def parts_of(request: Request, rule: Any, cuts: tuple[int, ...] = ()) -> tuple[list[Request], np.ndarray]:
    """Each call that is made, which draws frames numbered on from 100, and all frames."""
    seen: list[Request] = []

    def draw(part: Request) -> np.ndarray:
        first = 100 + sum(one.horizon for one in seen)
        seen.append(part)
        return (first + np.arange(part.horizon, dtype=np.uint8)).reshape(-1, 1, 1, 1).repeat(3, axis=3)

    return seen, np.concatenate(list(continued(request, rule, draw, cuts)))


def test_a_call_begins_at_every_cut_and_knows_what_holds_there() -> None:
    request = replace(asked(10), prompts=(Prompt(0, "Go."), Prompt(3, "Turn."), Prompt(9, "Rest.")))
    seen, frames = parts_of(request, "4n+1 to 5", (0, 3, 9, 40))
    assert [part.horizon for part in seen] == [4, 4, 4, 4]
    assert frames[:, 0, 0, 0].tolist() == [100, 101, 102, 104, 105, 106, 107, 108, 109, 112]
    assert [None if part.prompts is None else part.prompts[0].text for part in seen] == [
        "Go.",
        "Turn.",
        "Turn.",
        "Rest.",
    ]
    assert seen[0].prompts == (Prompt(0, "Go."), Prompt(3, "Turn."))
    assert seen[2].prompts == (Prompt(0, "Turn."), Prompt(2, "Rest."))
    after = seen[1].context
    assert after.clip.to_array()[:, 0, 0, 0].tolist() == [101, 102], "what was kept, not what was dropped"
    assert after.poses[:, 0, 3].tolist() == [2, 3]


def test_one_call_and_calls_that_do_not_fit() -> None:
    seen, frames = parts_of(asked(8), "4n+1 to 9")
    assert [part.horizon for part in seen] == [8]
    assert len(frames) == 8
    np.testing.assert_array_equal(seen[0].actions.values, asked(8).actions.values)
    seen, _ = parts_of(asked(3, ARM), (5,))
    assert seen[0].actions.values.tolist() == [[1, 2], [3, 4], [5, 6], [5, 6]]
    assert resting(Actions(ARM, np.zeros((0, 2), np.float32)), 2).tolist() == [[0, 0], [0, 0]]
    assert resting(asked(3).actions, 1).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="allow no frame after the picture"):
        list(continued(asked(3), (1,), lambda part: np.zeros((1, 1, 1, 3), np.uint8)))
    with pytest.raises(ValueError, match="2 frames were drawn where a call was to make 4"):
        list(continued(asked(3), (5,), lambda part: np.zeros((2, 1, 1, 3), np.uint8)))
