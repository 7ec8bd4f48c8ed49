"""Any model shown less than it could hold: what it gets, how it is named, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.episode import Episode
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.video import Writer
from worldgauge.engine.model_entries import resolve_model
from worldgauge.models import address
from worldgauge.models.address import ModelAddress
from worldgauge.models.baselines.memory import MemoryPlane
from worldgauge.models.baselines.trivial import Freeze, Mean
from worldgauge.models.context_ablation import ContextAblation
from worldgauge.models.videos import Videos


class Counting:
    """Draws how many frames it is shown."""

    def __init__(self, **declared: object) -> None:
        self.spec = ModelSpec("counting", **declared)  # type: ignore[arg-type]

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        width, height = request.frame_size
        yield np.full((request.horizon, height, width, 3), len(request.context), np.uint8)


def asked(walk: tuple[Episode, int]) -> RolloutRequest:
    episode, start = walk
    actions = episode.actions[start - 1 : start + 1]
    return RolloutRequest(episode.context(0, start), 2, 0, actions=actions, poses=episode.poses[start : start + 2])


def count(model: object, walk: tuple[Episode, int]) -> int:
    return int(next(iter(checked_rollout(model, asked(walk))))[0, 0, 0, 0])  # type: ignore[arg-type]


@pytest.mark.parametrize("frames", [1, 3])
def test_it_gets_the_last_frames(frames: int, walk: tuple[Episode, int]) -> None:
    assert count(ContextAblation(Counting(), frames), walk) == frames
    assert count(ContextAblation(Counting(max_context=8), frames), walk) == frames
    episode, start = walk
    mean = np.concatenate(list(ContextAblation(Mean(), frames).rollout(asked(walk))))
    want = np.rint(episode.clip[start - frames : start].to_array().mean(0))
    assert np.array_equal(mean[0], want)


def test_lengths_batches_and_the_path(walk: tuple[Episode, int]) -> None:
    # A model of fixed lengths gets its first frame repeated.
    model = ContextAblation(Counting(context_lengths="5+4n"), 3)
    assert count(model, walk) == 5
    # Batches are the same frames.
    model, request = ContextAblation(Mean(), 2), asked(walk)
    one = np.concatenate(list(checked_rollout(model, request)))
    for frames in checked_batch(model, [request, request]):
        assert np.array_equal(frames, one)
    # It tells its path and its spec.
    model = ContextAblation(MemoryPlane(), 1)
    assert (model.spec.name, model.spec.max_context) == ("memory-plane", 1)
    assert dict(model.spec.settings) == {"stride": 4, "shown": 1}
    assert np.array_equal(model.camera_path(asked(walk)), asked(walk).poses)
    assert ContextAblation(Counting(), 1).camera_path(asked(walk)) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("mean?context_frames=2", "mean-shown-2"),
        ("memory-plane?context_frames=1&stride=2", "memory-plane-stride-2-shown-1"),
        ("memory-plane?stride=2&context_frames=01", "memory-plane-stride-2-shown-1"),
    ],
)
def test_any_model_takes_it_as_a_setting(text: str, label: str) -> None:
    model = resolve_model(text)
    assert isinstance(model.model, ContextAblation)
    assert (model.label, model.source) == (label, text.partition("?")[0])
    plain = resolve_model(text.partition("?")[0] + ("?stride=2" if "stride" in text else ""))
    assert model.identity != plain.identity


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean?context_frames=0", "at least 1, got 0"),
        ("mean?context_frames=-1", "a number of frames, got '-1'"),
        ("mean?context_frames=1.5", "a number of frames, got '1.5'"),
        ("mean?context_frames=many", "a number of frames, got 'many'"),
        ("mean?context_frames=", "context_frames needs a number of frames, such as 1"),
        ("mean?context_frames=1&context_frames=2", "context_frames is given twice"),
        ("mean?shown=1&context_frames=2", "context_frames is given twice"),
        ("freeze?context_frames=1", "takes 1 at most: context_frames=1 changes nothing"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        resolve_model(text)
    assert "\n" not in str(caught.value)


def test_its_old_name_is_the_same_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    address._say_renamed.cache_clear()
    for text in ("mean?shown=2", "mean?calibration=c&shown=2", "cmd:python serve.py?a=1&shown=2"):
        assert ModelAddress.parse(text) == ModelAddress.parse(text.replace("shown=", "context_frames="))
        assert ModelAddress.parse(text).context_frames == 2
    assert capsys.readouterr().err == "warning: shown=N is now context_frames=N; the old name will be removed\n"
    assert ModelAddress.parse("random?shown=2", "agent").settings == {"shown": 2}, "a setting of its own"


@pytest.mark.parametrize("frames", [0, True, 1.0, "1"])
def test_numbers_of_frames_are_checked_in_python_too(frames: object) -> None:
    with pytest.raises(UsageError, match="must be a number of frames"):
        ContextAblation(Mean(), frames)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="changes nothing"):
        ContextAblation(Freeze(), 4)


def test_finished_videos_cannot_be_made_again(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.mp4", fps=10, kind="lossless") as out:
        out.write(np.zeros((2, 16, 16, 3), np.uint8))
    with pytest.raises(UsageError, match="cannot be made again from fewer frames"):
        ContextAblation(Videos(str(tmp_path)), 1)
