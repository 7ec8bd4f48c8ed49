"""Rollouts that are kept come back bit by bit; what was not asked is missing, and says so."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.served import question as plain_question
from worldgauge.core.errors import ModelError, UnknownNameError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.engine.model_entries import resolve_model
from worldgauge.models import models
from worldgauge.models.baselines.warp import Warp
from worldgauge.models.recorded import MODEL, Recorded, Recording, digest_of
from worldgauge.suites.worldinworld.trial_questions import StepQuestions


def question(seed: int = 1, horizon: int = 3, view: str = "perspective", start: int = 60) -> RolloutRequest:
    spec = Warp(view).spec  # type: ignore[arg-type]
    return StepQuestions().question(spec, start=start, horizon=horizon, seed=seed)


class Counting:
    """Seeded noise; counts what it is asked."""

    spec = ModelSpec("counting", control="camera", settings={"gain": 2})
    asked = 0

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        Counting.asked += 1
        width, height = request.frame_size
        rng = np.random.default_rng(request.seed)
        yield rng.integers(0, 256, (request.horizon, height, width, 3), dtype=np.uint8)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setattr(Counting, "asked", 0)
    monkeypatch.setattr("worldgauge.models.recorded._opened", lambda of: (Counting(), of))
    return Counting


@pytest.mark.parametrize("view", ["perspective", "panorama"])
def test_what_was_recorded_comes_back_without_the_model(tmp_path: Path, view: str) -> None:
    asked = [question(seed, n, view) for seed, n in ((1, 3), (2, 1))]
    recording = resolve_model(f"recording?of=warp%3Fview={view}&folder={tmp_path}").model
    first = checked_batch(recording, asked)
    here = checked_batch(Warp(view), asked)  # type: ignore[arg-type]
    replayed = checked_batch(Recorded(str(tmp_path)), asked)
    for one, two, three in zip(first, here, replayed, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)
    assert sorted(p.suffix for p in tmp_path.glob("*/*")) == [".mp4", ".mp4"], "nothing half-written is left"


def test_nothing_is_asked_twice_and_pure_noise_survives(tmp_path: Path, counting: type[Counting]) -> None:
    recording = Recording("counting", str(tmp_path))
    (kept,) = checked_batch(recording, [question(1), question(2)])[:1]
    assert counting.asked == 2
    first = checked_batch(recording, [question(2), question(3), question(1)])
    assert counting.asked == 3
    np.testing.assert_array_equal(first[0], np.concatenate(list(checked_rollout(recording, question(2)))))
    np.testing.assert_array_equal(kept, checked_batch(Counting(), [question(1)])[0])


def test_the_spec_is_that_of_the_model_and_what_it_was_handed_stays_marked(tmp_path: Path) -> None:
    recording = Recording("oracle?view=panorama", str(tmp_path))
    recorded = Recorded(str(tmp_path))
    assert recording.spec.name == "oracle"
    assert recorded.spec.name == "oracle-recorded"
    for spec in (recording.spec, recorded.spec):
        assert spec.privileged
        assert (spec.view, spec.control, spec.max_context) == ("panorama", "actions", None)
    assert recorded.spec.settings["of"] == "oracle?view=panorama"


def test_a_missing_rollout_is_named(tmp_path: Path) -> None:
    recording = Recording("warp", str(tmp_path))
    checked_batch(recording, [question(1)])
    with pytest.raises(ModelError, match=r"'warp-recorded': no rollout of task 'check' lies at .*mp4; record"):
        list(Recorded(str(tmp_path)).rollout(question(2)))


def test_the_digest_tells_apart_all_that_a_model_may_answer_by() -> None:
    one = question()
    assert one.poses is not None
    context = one.context
    moved, shown = one.poses.copy(), context.clip.to_array().copy()
    moved[0, 0, 3] += 0.01
    shown[0, 0, 0, 0] ^= 1
    others = [
        replace(one, seed=2),
        replace(one, horizon=2),
        replace(one, poses=moved),
        replace(one, context=replace(context, clip=Clip.from_array(shown, 5.0))),
        replace(one, context=replace(context, camera=context.camera.resized(64, 64))),
        question(view="panorama"),
    ]
    spec = ModelSpec("m", control="camera")
    assert len({digest_of(each, spec) for each in [one, *others]}) == len(others) + 1
    # Names and rounding do not count.
    assert digest_of(replace(one, task="another", poses=one.poses + 1e-9), spec) == digest_of(one, spec)
    assert digest_of(one, spec) == digest_of(question(), spec)


def test_the_digest_covers_what_is_required_beside_the_control() -> None:
    poses = np.tile(np.eye(4), (6, 1, 1))
    full = replace(plain_question(), poses=poses, text="Walk.", caption="A room.")
    digests = {"actions": "c56d509112bb52d7", "camera": "73b272a44bf91b29", "text": "5f38fc45b42c858e"}
    for control, known in digests.items():
        assert digest_of(full, ModelSpec("m", control=control))[:16] == known
    for name, other in (("caption", "A hall."), ("text", "Stand."), ("poses", poses + np.eye(4, k=3))):
        spec = ModelSpec("m", inputs=frozenset({name}))
        assert digest_of(replace(full, **{name: other}), spec) != digest_of(full, spec)
        assert digest_of(replace(full, **{name: other}), ModelSpec("m")) == digest_of(full, ModelSpec("m"))


def test_a_folder_holds_one_model(tmp_path: Path) -> None:
    Recording("warp", str(tmp_path))
    Recording("warp", str(tmp_path))
    with pytest.raises(UsageError, match="holds rollouts of another model"):
        Recording("roll", str(tmp_path))


def test_what_holds_no_rollouts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model\.json: cannot be read \(No such file"):
        Recorded(str(tmp_path))
    for text in ("{", "[]", '{"version": 2}', '{"version": 2, "spec": {"name": 3}, "source": ""}'):
        (tmp_path / MODEL).write_text(text)
        with pytest.raises(UsageError, match=r"model\.json"):
            Recorded(str(tmp_path))


def test_damaged_rollouts_are_refused(tmp_path: Path) -> None:
    recording = Recording("warp", str(tmp_path))
    checked_batch(recording, [question()])
    (path,) = tmp_path.glob("*/*.mp4")
    other = Recording("warp", str(tmp_path / "other"))
    checked_batch(other, [question(horizon=1)])
    path.write_bytes(next((tmp_path / "other").glob("*/*.mp4")).read_bytes())
    with pytest.raises(ModelError, match="1 frames of 128x128 do not fit"):
        list(Recorded(str(tmp_path)).rollout(question()))


def test_models_that_cannot_be_recorded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="generates nothing"):
        Recording("none", str(tmp_path))
    with pytest.raises(UnknownNameError, match="Did you mean 'warp'"):
        Recording("wrap", str(tmp_path))
    with pytest.raises(UsageError, match="cannot be made"):
        Recording("warp?gain=2", str(tmp_path))
    with pytest.raises(UsageError, match="give calibration and context_frames to the recording"):
        Recording("warp?context_frames=1", str(tmp_path))


def test_its_spec_is_plain_json(tmp_path: Path) -> None:
    Recording("degraded?level=0.25", str(tmp_path))
    assert json.loads((tmp_path / MODEL).read_text())["spec"]["settings"] == {"level": 0.25}
    assert {"recording", "recorded"} <= set(models.names())
