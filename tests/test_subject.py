"""What a model says about itself can be meant; what it raises or returns is checked to its very end."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from worldgauge.actions import LOOP_WALK, Actions
from worldgauge.episode import Context
from worldgauge.errors import NotApplicableError, SubjectError, UsageError
from worldgauge.geometry import Camera
from worldgauge.subject import ModelSpec, RolloutRequest, checked_rollout
from worldgauge.video import Clip

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
    spec = ModelSpec("m", "camera", "panorama", (64, 36), 20, 8, 4, frozenset({"truth"}), (4, 3.5))
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
