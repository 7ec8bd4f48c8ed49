"""openpi: what the policy server is given, the path that its actions are, and every answer that is none."""

from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest
from adapters.openpi import (
    OpenPi,
    PolicyError,
    absolute_poses,
    axis_angle,
    carried_out,
    from_axis_angle,
    half_turned,
    thinned,
    times,
    with_border,
)
from PIL import Image

from support.policy_server import policy_server
from worldgauge.core.geometry import Camera, rotation_of_quaternion
from worldgauge.suites.worldinworld.manipulation.process_proposer import checked_poses
from worldgauge_serve import NotApplicable, Scene

DOWN = np.array([0.2, -0.1, 1.1, 1.0, 0, 0, 0, 1.0])
ONE_STEP = np.array([[1, 0, -0.5, 0, 0, 0, -1], [0, 0, 0, 0, 0, 1, 1]], np.float32)


def scene(**fields: Any) -> Scene:
    front = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    camera = Camera.from_vertical_fov(64, 48, 60)
    plain = Scene(
        "pick up the cup", front, np.ones((48, 64), np.float32), camera, np.eye(4), DOWN, np.zeros((0, 8)), 2, 4, 7
    )
    return replace(plain, **{"wrist": front[::-1, ::-1], **fields})


@pytest.mark.parametrize(("step_m", "step_rad"), [(0.0131, 0.14), (0.05, 0.5)])
def test_actions_by_hand(step_m: float, step_rad: float) -> None:
    poses = carried_out(DOWN, ONE_STEP.astype(float), step_m, step_rad)
    np.testing.assert_allclose(poses[:, :3], [[0.2 + step_m, -0.1, 1.1 - step_m / 2]] * 2)
    np.testing.assert_allclose(poses[0, 3:], [1, 0, 0, 0, 1])
    # A turn about the world's z, by the half angle.
    np.testing.assert_allclose(poses[1, 3:], [np.cos(step_rad / 2), np.sin(step_rad / 2), 0, 0, 0], atol=1e-12)
    far = carried_out(DOWN, np.array([[9.0, 0, 0, 0, 0, 0, 0]]), step_m, step_rad)
    np.testing.assert_allclose(far[0, :3], [0.2 + step_m, -0.1, 1.1], err_msg="the controller clips at 1")


@pytest.mark.parametrize(
    ("settings", "move_m", "turn_rad"),
    [
        ({}, 0.0131, 0.14),
        ({"reach": "nominal"}, 0.05, 0.5),
        ({"step_m": 0.02}, 0.02, 0.14),
        ({"step_rad": 1}, 0.0131, 1.0),
    ],
)
def test_a_plan_reaches_as_far_as_the_settings_say(settings: dict[str, Any], move_m: float, turn_rad: float) -> None:
    chunk = np.zeros((10, 7), np.float32)
    chunk[:, 1], chunk[0, 3] = -1, 1
    with policy_server(chunk) as server:
        policy = OpenPi(server.url, **settings)
        plan = policy.propose(scene(length=10))[0]
    assert (policy.spec.settings["step_m"], policy.spec.settings["step_rad"]) == (move_m, turn_rad)
    np.testing.assert_allclose(plan[-1, :3] - DOWN[:3], [0, -10 * move_m, 0], atol=1e-12)
    turned = axis_angle(times(plan[-1, 3:7], DOWN[3:7] * [-1, -1, -1, 1]))
    np.testing.assert_allclose(turned, [turn_rad, 0, 0], atol=1e-9)


def test_turns_come_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        turn = rng.normal(size=3)
        np.testing.assert_allclose(axis_angle(from_axis_angle(turn)), turn, atol=1e-12)
        one, other = from_axis_angle(turn), from_axis_angle(rng.normal(size=3))
        assert np.linalg.norm(times(one, other)) == pytest.approx(1)
    np.testing.assert_allclose(times(from_axis_angle(turn), from_axis_angle(-turn)), [0, 0, 0, 1], atol=1e-12)
    assert axis_angle(np.array([1.0, 0, 0, 0])).tolist() == pytest.approx([np.pi, 0, 0])
    assert axis_angle(np.array([0, 0, 0, 1.0])).tolist() == [0, 0, 0]


def test_pictures_are_shrunk_as_pillow_does() -> None:
    picture = np.random.default_rng(2).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    ours = with_border(picture)
    theirs = np.asarray(Image.fromarray(picture).resize((224, 168), Image.Resampling.BILINEAR))
    assert not ours[:28].any()
    assert not ours[196:].any()
    assert np.abs(ours[28:196].astype(int) - theirs).max() <= 1


def test_what_the_server_is_given_and_what_is_made_of_its_answer() -> None:
    with policy_server(np.tile(ONE_STEP, (5, 1))) as server:
        policy = OpenPi(server.url)
        assert (policy.spec.name, policy.spec.kind) == ("openpi", "policy")
        plans = policy.propose(scene())
    assert plans.shape == (2, 4, 8)
    checked_poses(plans, 4, "openpi")
    whole = carried_out(DOWN, np.tile(ONE_STEP, (5, 1)).astype(float))
    np.testing.assert_allclose(plans[0], whole[[1, 4, 6, 9]])
    first, _ = server.asked
    assert first["prompt"] == "pick up the cup"
    np.testing.assert_allclose(
        first["observation/state"], [0.2 + 0.31 - 0.66, -0.1, 1.1 - 0.75 + 0.912, np.pi, 0, 0, 0.04, -0.04]
    )
    np.testing.assert_array_equal(first["observation/image"], with_border(scene().front[:, ::-1]))
    np.testing.assert_array_equal(first["observation/wrist_image"], with_border(scene().front[::-1]))


QUARTER = np.pi / 2


def test_absolute_actions_by_hand() -> None:
    """Fixed axes: a quarter about x, then one about z, brings the hand's z to -y, then to x."""
    actions = np.array([[0.2, -0.1, 1.1, QUARTER, 0, QUARTER, -1], [0.3, 0, 0.9, np.pi, 0, 0, 1], [0] * 6 + [0.5]])
    plain = absolute_poses(actions, np.zeros(3), False)
    np.testing.assert_allclose(plain[0], [0.2, -0.1, 1.1, 0.5, 0.5, 0.5, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(rotation_of_quaternion(plain[0, 3:7]) @ [0, 0, 1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(plain[1], [0.3, 0, 0.9, 1, 0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(plain[2], [0, 0, 0, 0, 0, 0, 1, 0.75], atol=1e-12)
    # The hand's x and y change their sign, its z stays.
    turned = absolute_poses(actions, np.array([0.1, 0, 0]), True)
    for one, other in zip(turned, plain, strict=True):
        halved = rotation_of_quaternion(other[3:7]) @ np.diag([-1, -1, 1])
        np.testing.assert_allclose(rotation_of_quaternion(one[3:7]), halved, atol=1e-12)
    np.testing.assert_allclose(turned[0, :3], [0.1, -0.1, 1.1])


def test_absolute_angles_are_those_of_an_independent_implementation() -> None:
    rng = np.random.default_rng(3)
    actions = np.column_stack([np.zeros((20, 3)), rng.uniform(-3, 3, (20, 3)), np.zeros(20)])
    for action, pose in zip(actions, absolute_poses(actions, np.zeros(3), False), strict=True):
        (a, b, c), (d, e, f) = np.cos(action[3:6]), np.sin(action[3:6])
        about_x = np.array([[1, 0, 0], [0, a, -d], [0, d, a]])
        about_y = np.array([[b, 0, e], [0, 1, 0], [-e, 0, b]])
        about_z = np.array([[c, -f, 0], [f, c, 0], [0, 0, 1]])
        np.testing.assert_allclose(rotation_of_quaternion(pose[3:7]), about_z @ about_y @ about_x, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "quaternion", "hand"),
    [({}, [0, 1, 0, 0], [0, 1, 0, 0]), ({"turned": False}, [1, 0, 0, 0], [1, 0, 0, 0])],
)
def test_a_policy_of_absolute_poses(settings: dict[str, Any], quaternion: list[float], hand: list[float]) -> None:
    chunk = np.zeros((10, 7), np.float32)
    chunk[:, 0], chunk[:, 3], chunk[:, 6] = np.arange(10) / 100, np.pi, 1
    with policy_server(chunk) as server:
        policy = OpenPi(server.url, form="absolute", take="1,4,6,9", **settings)
        assert (policy.spec.layout, policy.spec.settings["take"]) == ("wrist", [1, 4, 6, 9])
        plans = policy.propose(scene(length=5))
        assert policy.propose(scene(length=2)).shape == (2, 2, 8)
    checked_poses(plans, 5, "openpi")
    np.testing.assert_allclose(plans[0, :, 0], [0.01, 0.04, 0.06, 0.09], atol=1e-7)
    np.testing.assert_allclose(plans[0, 0, 3:], [*hand, 1], atol=1e-6)
    given = server.asked[0]
    np.testing.assert_allclose(given["observation/state"], [0.2, -0.1, 1.1, *quaternion, 1])
    np.testing.assert_array_equal(given["observation/image"], with_border(scene().front))
    np.testing.assert_array_equal(given["observation/wrist_image"], with_border(scene().front[::-1, ::-1]))


def test_half_a_turn_is_that_of_the_released_demonstrations() -> None:
    """Straight down is (1, 0, 0, 0) here and (0, 1, 0, 0) there; their y is positive whichever sign ours has."""
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(half_turned(np.array([sign, 0, 0, 0])), [0, 1, 0, 0])


def test_a_chunk_that_lacks_what_is_taken() -> None:
    with policy_server(np.zeros((5, 7), np.float32)) as server, pytest.raises(PolicyError, match="names action 9"):
        OpenPi(server.url, take=[1, 9]).propose(scene())


def test_fewer_actions_make_a_shorter_plan() -> None:
    with policy_server(ONE_STEP.astype(np.float64)) as server:
        assert OpenPi(server.url).propose(scene()).shape == (2, 2, 8)
        assert OpenPi(server.url, actions=1, mirrored=False).propose(scene()).shape == (2, 1, 8)
    np.testing.assert_array_equal(server.asked[-1]["observation/image"], with_border(scene().front))
    assert thinned(10, 4).tolist() == [1, 4, 6, 9]
    assert thinned(3, 4).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (np.zeros((10, 8), np.float32), "speeds of joints, as of DROID"),
        (np.zeros((10, 6), np.float32), r"actions of shape \(10, 6\)"),
        (np.zeros((0, 7), np.float32), r"actions of shape \(0, 7\)"),
        (np.full((2, 7), np.nan, np.float32), "not all finite"),
        (np.zeros((2, 7), np.int64), "an array of type '<i8'"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'prompt'", "failed: KeyError: 'prompt'"),
        (b"\xc1", "cannot be read"),
        (msgpack.packb([1]), "is no map"),
        ("gone", "was lost"),
    ],
)
def test_answers_that_are_none(answer: Any, because: str) -> None:
    with policy_server(answer) as server, pytest.raises(PolicyError, match=because):
        OpenPi(server.url).propose(scene())


def test_a_silent_server_and_none_at_all() -> None:
    with policy_server("silence") as server, pytest.raises(PolicyError, match=r"no answer within 0\.3 s"):
        OpenPi(server.url, answer_s=0.3).propose(scene())
    with pytest.raises(PolicyError, match="was lost"):
        OpenPi("ws://127.0.0.1:9").propose(scene())


def test_needs_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotApplicable, match="needs an instruction"):
        OpenPi().propose(scene(instruction=""))
    with pytest.raises(NotApplicable, match="the wrist view"):
        OpenPi().propose(scene(wrist=None))
    monkeypatch.setenv("MY_KEY", "abc")
    with policy_server(ONE_STEP) as server:
        OpenPi(server.url, key_env="MY_KEY").propose(scene())
    assert server.headers[0]["Authorization"] == "Api-Key abc"


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"url": "http://127.0.0.1:8000"}, "url is ws://HOST:PORT"),
        ({"foot": [1, 2]}, "give three numbers"),
        ({"actions": -1}, "actions is not below 0"),
        ({"key_env": "NOT_SET_HERE"}, "holds no key"),
        ({"reach": "far"}, "measured or nominal"),
        ({"reach": "nominal", "step_m": 0.02}, "not both"),
        ({"step_m": 0}, "are above 0"),
        ({"form": "joints"}, "deltas or absolute"),
        ({"take": "1,b"}, "take is numbers from 0"),
        ({"take": [-1]}, "take is numbers from 0"),
        ({"take": "1", "actions": 2}, "without actions"),
        ({"form": "absolute", "step_m": 0.02}, "are for form=deltas"),
        ({"step_rad": float("nan")}, "are above 0"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        OpenPi(**settings)
