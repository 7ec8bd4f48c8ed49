"""What a model says about itself can be meant; what it raises or returns is checked to its very end."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError, SubjectError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_batch, checked_rollout, imagines
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
    ("kind", "known"), [(ValueError, SubjectError), (SubjectError, SubjectError), (NotApplicableError, None)]
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

    with pytest.raises(SubjectError, match="model 'nothing' raised TypeError at frame 0"):
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
    with pytest.raises(SubjectError, match="raised ValueError at frame 2: no latent"):
        checked_batch(Grey(bad=2), asked)
    with pytest.raises(SubjectError, match=r"stopped after 2 of 3 frames \(request 2 of a batch of 2\)"):
        checked_batch(GreyTogether(bad=2), asked)


def test_a_batch_that_raises_or_lacks_answers_is_the_models_failure() -> None:
    class Wrong(Grey):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> Any:
            if requests[0].seed == 5:
                raise RuntimeError("out of memory")
            return [[]]

    with pytest.raises(SubjectError, match="'grey' raised RuntimeError in a batch of 2: out of memory"):
        checked_batch(Wrong(), [replace(request(), seed=5)] * 2)
    with pytest.raises(SubjectError, match="gave 1 answers to a batch of 2"):
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
