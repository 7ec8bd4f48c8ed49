"""Agents look with networks of random weights, brought into the store as published ones are: the whole way of one."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")

from perception.networks import test_grounding as tiny_grounding  # noqa: E402
from perception.networks import test_sam2 as tiny_sam2  # noqa: E402
from support.task_context import QuietContext  # noqa: E402
from worldgauge.core.geometry import Camera  # noqa: E402
from worldgauge.models import models  # noqa: E402
from worldgauge.perception.networks import segmentation  # noqa: E402
from worldgauge.perception.networks.segmentation import GroundingDino, Sam2  # noqa: E402
from worldgauge.suites.worldinworld.policies import cached_inference  # noqa: E402
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, HomeObservation, Rollout  # noqa: E402
from worldgauge.suites.worldinworld.questions import landmarks as detecting  # noqa: E402
from worldgauge.suites.worldinworld.questions.landmarks import VOCABULARY, Detector  # noqa: E402
from worldgauge.suites.worldinworld.recognition.tracking import BoxTracker, TrackedTarget  # noqa: E402
from worldgauge.suites.worldinworld.suite import ClosedLoop  # noqa: E402
from worldgauge.weights import catalogue  # noqa: E402
from worldgauge.worlds.walking.primitives import Primitive  # noqa: E402

BOX = (10, 8, 40, 30)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both sets, as their owners publish them but small."""
    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(3)
    sam2 = transformers.Sam2VideoModel(tiny_sam2.tiny_config())
    for name, tensor in sam2.named_parameters():
        torch.nn.init.normal_(tensor, std=0.6 if "memory" in name or "pointer" in name else 0.1)
        if name.endswith("pred_obj_score_head.proj_out.bias"):
            torch.nn.init.constant_(tensor, 5.0)
    sam2.save_pretrained(folder / "sam2")
    dino = transformers.GroundingDinoForObjectDetection(tiny_grounding.tiny_config())
    for tensor in dino.parameters():
        if tensor.dim() > 1:
            torch.nn.init.normal_(tensor, std=0.2)
    dino.save_pretrained(folder / "grounding-dino")
    tiny_grounding.save_tokenizer(folder / "grounding-dino")
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(made))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(segmentation, "SHORT_PX", 80)
    monkeypatch.setattr(segmentation, "LONG_PX", 133)
    for name in ("sam2", "grounding-dino"):
        known = catalogue[name]
        files = tuple(replace(file, **_facts(made / name / file.name)) for file in known.files)
        monkeypatch.setitem(catalogue, name, replace(known, files=files))
    cached_inference._opened_once.cache_clear()
    return made


def _facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


class View:
    """One picture to every side."""

    def __init__(self, rgb: Any) -> None:
        self._rgb = rgb

    def view(self, side: str) -> Any:
        return self._rgb


def test_views_are_looked_at_by_both(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rgb = np.random.default_rng(2).integers(0, 256, (36, 80, 3), np.uint8)
    here: HomeObservation = View(rgb)
    found = Detector()(here, "front")
    direct = cached_inference.network("grounding-dino").network.detect(rgb, VOCABULARY, score=detecting.SCORE)
    worth = [each for each in direct if each.score >= 0.3 or each.name == "door"]
    masks = cached_inference.network("sam2").network.segment_boxes(rgb, [each.box for each in worth])
    expected = [(each, mask) for each, mask in zip(worth, masks, strict=True) if mask.any()]
    assert len(expected) > 3, "the tiny networks are to say something"
    assert [(each.name, each.score) for each in found] == [(each.name, each.score) for each, _ in expected]
    assert all((each.mask == mask).all() for each, (_, mask) in zip(found, expected, strict=True))
    monkeypatch.setattr(GroundingDino, "detect", None)
    monkeypatch.setattr(Sam2, "segment_boxes", None)
    again = Detector()(here, "front")
    assert all((one.mask == other.mask).all() for one, other in zip(again, found, strict=True)), "kept, and not asked"


def test_a_target_is_followed(store: Path) -> None:
    frames = np.random.default_rng(2).integers(0, 256, (6, 36, 80, 3), np.uint8)
    camera = Camera.from_horizontal_fov(80, 36, 90)
    target = TrackedTarget(BOX, frames[0], np.full((36, 80), 2.0, np.float32), camera)
    rollout = Rollout(frames, "perspective", camera, np.arange(6), 6)
    seen = list(BoxTracker()(target, ActionPlan((Primitive.FORWARD,) * 5, "test"), rollout, range(1, 6)))
    box = target.box_seen_by(camera, 0.0)
    assert box == pytest.approx(BOX)
    masks = cached_inference.network("sam2").network.track(frames, box)
    last = next((n for n in range(1, 6) if not masks[n].any()), 6)
    assert last > 2, "the tiny network is to say something"
    assert [one.frame for one in seen] == list(range(1, last))


def test_an_episode_of_recognition_and_one_of_questions(store: Path, episodes: Path, tmp_path: Path) -> None:
    small: Any = {"view_px": 32, "panorama_px": 64, "decisions": 2, "candidates": 1}
    detected = {"landmarks": "detected", "proposer": "landmarks"}
    for task, more in (("recognition", {"tracker": "sam2"}), ("questions", detected)):
        suite = ClosedLoop(task=task, **small, **more)
        tasks = list(suite.tasks(episodes))
        suite.prepare(tasks, lambda what, done, of: None)
        assert suite.settings["networks_digest"] not in (None, ClosedLoop(task=task).settings["networks_digest"])
        (tmp_path / task).mkdir()
        record = suite.perform(tasks[0], models.get("freeze")(), QuietContext(tmp_path / task))
        assert record.facts["end"]
