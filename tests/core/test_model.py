"""What a model says about itself can be meant; what it raises or returns is checked to its very end."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.model import (
    Blinding,
    ModelSpec,
    RolloutRequest,
    checked_batch,
    checked_rollout,
    fitted,
    imagines,
    visible,
)
from worldgauge.core.video import Clip

HORIZON = 3


@pytest.mark.parametrize(
    "field",
    [
        {"control": "joystick"}, {"view": "fisheye"}, {"inputs": frozenset({"smell"})},
        {"frame_size": (64, 0)}, {"frame_size": (64,)}, {"frame_size": 64}, {"frame_size": (64.0, 36.0)},
        {"frame_size": (8192, 8193)}, {"frame_size": (10**30, 1)},
        {"fps": 0}, {"fps": float("inf")}, {"fps": "20"}, {"max_context": 0}, {"max_context": 1.5},
        {"max_context": True}, {"chunk": 0}, {"crop": (4, -3)}, {"crop": (4, float("nan"))},
        {"lengths": "4m+1"}, {"lengths": (1,)}, {"lengths": 81}, {"context_lengths": ()}, {"context_lengths": "0n"},
        {"action_spaces": ()}, {"action_spaces": "loop-walk"}, {"action_spaces": ("",)},
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_meant_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"model 'm'.*{next(iter(field))}"):
        ModelSpec("m", **field)


def test_fields_that_can_be_meant_are_kept() -> None:
    spec = ModelSpec("m", "camera", "perspective", (64, 36), 20, 8, 4, frozenset({"truth"}), (4, 3.5))
    assert spec.privileged
    assert spec.max_context == 8
    assert not ModelSpec("m", max_context=np.int64(8), fps=np.float32(20), frame_size=[64, 36]).privileged  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "known"), [(ValueError, ModelError), (ModelError, ModelError), (NotApplicableError, None)]
)
@pytest.mark.parametrize("at", [0, 2, HORIZON])
def test_whatever_a_model_raises_is_its_failure_also_after_the_last_frame(
    kind: type[Exception], known: type[Exception] | None, at: int
) -> None:
    class Raising:
        spec = ModelSpec("raising")

        def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
            for t in range(HORIZON + 1):
                if t == at:
                    raise kind("no latent")
                yield np.zeros((1, 4, 4, 3), np.uint8)

    # Errors of ours speak for themselves; of others the model, the kind and the frame are told.
    words = "^no latent" if kind is not ValueError else f"model 'raising' raised ValueError at frame {at}: no latent"
    with pytest.raises(known or kind, match=words):
        list(checked_rollout(Raising(), request()))


def test_a_model_that_raises_at_once_or_returns_nothing_to_go_through_is_named() -> None:
    class Nothing:
        spec = ModelSpec("nothing")

        def rollout(self, request: RolloutRequest) -> Any:
            return None

    with pytest.raises(ModelError, match="model 'nothing' raised TypeError at frame 0"):
        list(checked_rollout(Nothing(), request()))


def test_a_panorama_has_no_centre_part() -> None:
    with pytest.raises(UsageError, match=r"model 'm': crop is \(4, 3\); a panorama has no centre part"):
        ModelSpec("m", view="panorama", crop=(4, 3))


def test_a_model_that_needs_a_caption_is_not_asked_without_one() -> None:
    class Described:
        spec = ModelSpec("described", inputs=frozenset({"caption"}))
        asked: list[str | None] = []  # noqa: RUF012

        def rollout(self, request: RolloutRequest) -> list[np.ndarray]:
            self.asked.append(request.caption)
            return [np.zeros((request.horizon, 4, 4, 3), np.uint8)]

    model = Described()
    for caption in (None, ""):
        bare = replace(request(), caption=caption)
        for ask in (lambda: list(checked_rollout(model, bare)), lambda: checked_batch(model, [request(), bare])):  # noqa: B023
            with pytest.raises(NotApplicableError, match="'described' needs a caption of the scene, and this task"):
                ask()
    assert model.asked == []
    assert len(list(checked_rollout(model, replace(request(), caption="A room.")))) == 1
    assert model.asked == ["A room."]
    assert not model.spec.privileged


class Grey:
    """Frames of the grey level that is the seed, two a chunk; bad: the seed of a request that it fails."""

    def __init__(self, bad: int | None = None) -> None:
        self.spec = ModelSpec("grey")
        self.bad = bad
        self.batches = 0

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        for start in range(0, request.horizon, 2):
            yield np.full((min(2, request.horizon - start), 4, 4, 3), request.seed, np.uint8)
            if request.seed == self.bad:
                raise ValueError("no latent")


class GreyTogether(Grey):
    """The same, together; what `bad` is asked comes short."""

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> Iterator[list[np.ndarray]]:
        self.batches += 1
        for one in requests:
            chunks = list(Grey().rollout(one))
            yield chunks[:1] if one.seed == self.bad else chunks


@pytest.mark.parametrize("kind", [Grey, GreyTogether])
def test_a_batch_is_one_array_a_request_in_order(kind: type[Grey]) -> None:
    model = kind()
    frames = checked_batch(model, [replace(request(), seed=seed, horizon=n) for seed, n in ((9, 3), (4, 1), (7, 5))])
    assert [(one.shape, int(one.min()), int(one.max())) for one in frames] == [
        ((3, 4, 4, 3), 9, 9), ((1, 4, 4, 3), 4, 4), ((5, 4, 4, 3), 7, 7),
    ]  # fmt: skip
    assert model.batches == (kind is GreyTogether)
    assert checked_batch(model, []) == []


def test_a_batch_with_a_bad_answer_says_which() -> None:
    asked = [replace(request(), seed=seed) for seed in (1, 2)]
    with pytest.raises(ModelError, match="raised ValueError at frame 2: no latent"):
        checked_batch(Grey(bad=2), asked)
    with pytest.raises(ModelError, match=r"stopped after 2 of 3 frames \(request 2 of a batch of 2\)"):
        checked_batch(GreyTogether(bad=2), asked)


def test_a_batch_that_raises_or_lacks_answers_is_the_models_failure() -> None:
    class Wrong(Grey):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> Any:
            if requests[0].seed == 5:
                raise RuntimeError("out of memory")
            return [[]]

    with pytest.raises(ModelError, match="'grey' raised RuntimeError in a batch of 2: out of memory"):
        checked_batch(Wrong(), [replace(request(), seed=5)] * 2)
    with pytest.raises(ModelError, match="gave 1 answers to a batch of 2"):
        checked_batch(Wrong(), [request()] * 2)


def test_who_imagines_says_so_by_its_class() -> None:
    class Silent(Grey):
        imagines = False

    assert imagines(Grey())
    assert not imagines(Silent())
    assert not imagines(Silent)


def request() -> RolloutRequest:
    """Three frames of 4x4 pixels."""
    idle = np.zeros((0, len(LOOP_WALK)), np.float32)
    context = Context(
        Clip.from_array(np.zeros((1, 4, 4, 3), np.uint8), 20.0),
        np.eye(4)[None],
        Actions(LOOP_WALK, idle),
        Camera.from_vertical_fov(4, 4, 70),
    )
    future = Actions(LOOP_WALK, np.zeros((HORIZON, len(LOOP_WALK)), np.float32))
    return RolloutRequest(context, HORIZON, 0, actions=future)


class Counting:
    """Frames whose grey is their number, three a chunk; keeps what it is asked."""

    def __init__(self, **spec: Any) -> None:
        self.spec = ModelSpec("counting", **spec)
        self.asked: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        self.asked.append(request)
        for start in range(0, request.horizon, 3):
            numbers = np.arange(start, min(start + 3, request.horizon), dtype=np.uint8)
            yield np.broadcast_to(numbers[:, None, None, None], (len(numbers), 4, 4, 3)).copy()


def full(horizon: int = 6) -> RolloutRequest:
    """A request with actions and poses that all differ."""
    one = replace(request(), horizon=horizon)
    values = np.arange(horizon * len(LOOP_WALK), dtype=np.float32).reshape(horizon, -1) / 100
    poses = np.tile(np.eye(4), (horizon, 1, 1))
    poses[:, 0, 3] = np.arange(horizon)
    return replace(one, actions=Actions(LOOP_WALK, values), poses=poses, text="Walk.")


@pytest.mark.parametrize(
    ("lengths", "asked"),
    [("4n+1", 8), ("8n+1", 8), ("57+40n", 56), ("16n+1", 16), ((7, 81), 6), ((9, 81), 8), (None, 6)],
)
def test_a_horizon_that_does_not_fit_is_asked_longer_and_cut(lengths: Any, asked: int) -> None:
    model = Counting(lengths=lengths, inputs=frozenset({"poses"}))
    frames = np.concatenate(list(checked_rollout(model, full())))
    assert frames[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    (given,) = model.asked
    assert given.horizon == asked == len(given.actions) == len(given.poses)  # type: ignore[arg-type]
    np.testing.assert_array_equal(given.poses[:6], full().poses)  # type: ignore[index]
    np.testing.assert_array_equal(given.poses[5:], np.repeat(given.poses[5:6], asked - 5, axis=0))  # type: ignore[index]
    assert not given.actions.values[6:].any(), "it stands still at the end"  # type: ignore[union-attr]
    (both, other) = checked_batch(model, [full(), full(3)])
    assert (len(both), len(other)) == (6, 3)
    assert fitted(given, model.spec) is given, "what fits is asked as it is"


def test_a_batch_is_cut_as_well() -> None:
    class Together(Counting):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[np.ndarray]]:
            return [list(self.rollout(one)) for one in requests]

    model = Together(lengths="4n+1")
    frames = checked_batch(model, [full(6), full(4), full(1)])
    assert [len(one) for one in frames] == [6, 4, 1]
    assert [one.horizon for one in model.asked] == [8, 4, 4]


def test_a_horizon_beyond_every_length_is_not_asked() -> None:
    for lengths, words in (((5, 7), "makes 5 or 7 frames"), ("4n+1 to 9", "makes 4n[+]1 to 9 frames")):
        model = Counting(lengths=lengths)
        with pytest.raises(NotApplicableError, match=f"'counting' {words} with the picture .* asks for 10"):
            list(checked_rollout(model, full(9)))
        assert model.asked == []


def test_a_model_that_makes_fewer_than_its_own_length_has_failed() -> None:
    class Short(Counting):
        def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
            yield np.zeros((6, 4, 4, 3), np.uint8)

    with pytest.raises(ModelError, match="stopped after 6 of 8 frames"):
        list(checked_rollout(Short(lengths="4n+1"), full()))


@pytest.mark.parametrize(("rule", "frames"), [("4n+1", 1), ("2n", 2), ((3, 9), 3), ("5+4n", 5), ((8,), 8), (None, 3)])
def test_a_context_is_cut_or_filled_up_in_front(rule: Any, frames: int) -> None:
    rng = np.random.default_rng(1)
    shown = rng.integers(0, 256, (3, 4, 4, 3)).astype(np.uint8)
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3] = [1, 2, 3]
    actions = Actions(LOOP_WALK, np.ones((2, len(LOOP_WALK)), np.float32))
    camera = Camera.from_vertical_fov(4, 4, 70)
    context = Context(Clip.from_array(shown, 20.0), poses, actions, camera, lambda i: np.full((4, 4), i, np.float32))
    given = fitted(replace(full(), context=context), ModelSpec("m", context_lengths=rule)).context
    missing = max(0, frames - 3)
    at = [0] * missing + list(range(max(0, 3 - frames), 3))
    np.testing.assert_array_equal(given.clip.to_array(), shown[at])
    np.testing.assert_array_equal(given.poses, poses[at])
    assert [float(given.depth(i)[0, 0]) for i in range(len(given))] == at  # type: ignore[misc]
    np.testing.assert_array_equal(given.actions.values[:, 0], [0] * missing + [1] * (frames - 1 - missing))


def test_actions_that_a_model_does_not_know_are_not_asked() -> None:
    for spaces in (("loop-walk",), ("hand-poses", "loop"), None):
        assert len(list(checked_rollout(Counting(action_spaces=spaces), full()))) == 2
    for spaces in (("walk-look",), ("loop-walk-fast",), ("oop-walk",)):
        model = Counting(action_spaces=spaces)
        with pytest.raises(
            NotApplicableError, match=f"knows the actions of {spaces[0]}, and those of this task are loop"
        ):
            list(checked_rollout(model, full()))
        assert model.asked == []
        assert len(list(checked_rollout(Counting(control="camera", action_spaces=spaces), full()))) == 2
        with pytest.raises(NotApplicableError):
            list(
                checked_rollout(Counting(control="camera", inputs=frozenset({"actions"}), action_spaces=spaces), full())
            )


@pytest.mark.parametrize("name", ["actions", "poses", "text"])
def test_a_form_that_is_required_or_binds_and_is_not_known_is_not_asked(name: str) -> None:
    bare = replace(full(), **{name: None})
    for spec in ({"inputs": frozenset({name})}, {"control": {"poses": "camera"}.get(name, name)}):
        model = Counting(**spec)
        with pytest.raises(NotApplicableError, match=r"'counting' needs .*, and this task has none"):
            list(checked_rollout(model, bare))
        assert model.asked == []
        assert len(list(checked_rollout(model, full()))) == 2


def test_poses_that_are_none_are_bad_data() -> None:
    whole = full()
    assert whole.poses is not None
    for poses in (2 * whole.poses, whole.poses @ np.diag([1.0, 1, -1, 1]), np.full_like(whole.poses, np.nan)):
        with pytest.raises(DataError, match=r"task '.*': poses: (pose 0 is no rotation|its values are not all finite)"):
            list(checked_rollout(Counting(), replace(whole, poses=poses)))
    bent = replace(whole, context=replace(whole.context, poses=0 * whole.context.poses))
    with pytest.raises(DataError, match="context poses: pose 0 is no rotation"):
        list(checked_rollout(Counting(), bent))


def test_what_a_spec_tells_is_that_of_0_1_0_unless_it_declares_more() -> None:
    told = ModelSpec("m", inputs=frozenset({"depth"})).told
    assert list(told) == [
        "name", "control", "view", "frame_size", "fps", "max_context", "chunk", "inputs", "crop", "settings",
    ]  # fmt: skip
    assert told["inputs"] == ["depth"]
    more = ModelSpec("m", lengths="4n+1", action_spaces=("loop-walk",)).told
    assert {name: more[name] for name in more if name not in told} == {
        "lengths": "4n+1", "action_spaces": ("loop-walk",),
    }  # fmt: skip


class Scribbler:
    """Writes into what it is handed."""

    spec = ModelSpec("scribbler", control="camera")

    def __init__(self, where: str) -> None:
        self.where = where

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        frame = request.context.clip[0]
        handed = {
            "frame": frame,
            "iterated": next(iter(request.context.clip)),
            "seen poses": request.context.poses,
            "seen actions": request.context.actions.values,
            "poses": request.poses,
            "actions": request.actions.values if request.actions else None,
            "truth": None if request.truth is None else request.truth[0],
            "truth poses": request.truth_poses,
        }[self.where]
        handed[...] = 0
        yield np.repeat(frame[None], request.horizon, axis=0)


@pytest.mark.parametrize(
    "where", ["frame", "iterated", "seen poses", "seen actions", "poses", "actions", "truth", "truth poses"]
)
def test_what_a_model_is_handed_is_read_only_and_it_is_told(where: str) -> None:
    """A model that wrote into the recording was scored against what it had written."""
    frames = np.full((3, 4, 6, 3), 9, np.uint8)
    poses = np.repeat(np.eye(4)[None], 3, axis=0)
    space = LOOP_WALK
    actions = Actions(space, np.zeros((3, len(space)), np.float32))
    context = Context(Clip.from_array(frames, 10), poses, actions[:2], Camera.from_vertical_fov(6, 4, 60))
    truth = Clip.from_array(frames, 10)
    request = RolloutRequest(context, 3, 0, actions=actions, poses=poses, truth=truth, truth_poses=poses)
    with pytest.raises(ModelError, match=r"raised ValueError at frame 0: .*read-only"):
        list(checked_rollout(Scribbler(where), request))
    assert (frames == 9).all()
    frames[0] = 8  # ours stay ours
    assert (context.clip[0] == 8).all()


def walked() -> RolloutRequest:
    """A request whose camera stands somewhere in the world, looks down a little, and goes on."""
    poses = pose_from_yaw_pitch(np.array([[3.0, 4, 5], [4, 4, 5], [4, 5, 5]]), [0.3, 1.2, 1.4], -0.2)
    one = full(2)
    return replace(one, context=replace(one.context, poses=poses[:1]), poses=poses[1:], task="ABA/made/up")


def test_only_models_that_declare_poses_see_them_and_from_the_last_camera_on() -> None:
    asked = walked()
    for spec in (ModelSpec("m"), ModelSpec("m", "text"), ModelSpec("m", inputs=frozenset({"depth"}))):
        seen = visible(asked, spec)
        assert seen.poses is seen.context.poses is None
        with pytest.raises(NotApplicableError, match="declare control 'camera' or the input 'poses'"):
            _ = seen.context.path
    world = visible(asked, ModelSpec("m", inputs=frozenset({"truth"})))
    assert world is asked
    for spec in (ModelSpec("m", "camera"), ModelSpec("m", inputs=frozenset({"poses"}))):
        seen = visible(asked, spec)
        here = seen.context.path[-1]
        np.testing.assert_allclose(here, pose_from_yaw_pitch(np.zeros(3), 0.0, -0.2), atol=1e-12)
        assert seen.poses is not None
        assert asked.poses is not None
        np.testing.assert_allclose(yaw_pitch_from_pose(seen.poses)[0], [0.9, 1.1], atol=1e-12)
        between = [np.linalg.inv(path[0]) @ path[1] for path in (seen.poses, asked.poses)]
        np.testing.assert_allclose(*between, atol=1e-12)
        assert visible(seen, spec) is seen, "a wrapped model gets the same"


def test_a_blinded_request_names_no_task() -> None:
    asked = walked()
    one, two = (Blinding(salt, 3).request(asked) for salt in ("a", "b"))
    assert len({one.task, two.task, asked.task}) == 3
    assert one.seed == two.seed, "the seed does not depend on the salt"
    assert Blinding("a", 3).request(replace(asked, task="another", seed=9)).seed == one.seed, "nor on the task"
    assert Blinding("a", 4).request(asked).seed != one.seed
    frames = Clip.from_array(asked.context.clip.to_array() + np.uint8(1), asked.context.clip.fps)
    other = replace(asked, context=replace(asked.context, clip=frames))
    assert Blinding("a", 3).request(other).seed != one.seed
    assert Blinding().request(asked) is asked, "a run of former code goes on as it was"
