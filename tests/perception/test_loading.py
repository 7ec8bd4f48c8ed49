"""What networks are shown, and what is made of what they give; servers are real processes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.perception_server import patches, projection
from support.places import TESTS
from support.vectors import cases
from worldgauge.core.errors import DataError, ModelError, ShapeError, UnknownNameError, UsageError, WorldgaugeError
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.metrics.lpips_fvd import dino_mse
from worldgauge.perception import estimators
from worldgauge.perception.loading import BATCH, Lpips, Unavailable, open_perception
from worldgauge.perception.networks._pretrained import clip_input, dino_input, musiq_input
from worldgauge.serving.remote_model import EstimateError

SERVERS = TESTS / "support" / "perception_server.py"

Opened = Callable[..., Any]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:
        yield lambda *given, **settings: stack.enter_context(closing(open_perception(*given, **settings)))


@pytest.fixture
def head(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "head.npz", weight=rng.normal(size=(1, 768)).astype(np.float32), bias=np.float32([0.5]))
    return tmp_path / "head.npz"


def served(target: str, scheme: str = "cmd", options: str = "") -> str:
    return f"{scheme}:{sys.executable} -m worldgauge_serve {options} '{SERVERS}:{target}'"


def frames(n: int = 3, seed: int = 0) -> np.ndarray:
    """Frames (n, 72, 128, 3) in [0, 1]: servers do not mind the size."""
    return np.random.default_rng(seed).random((n, 72, 128, 3), dtype=np.float32)


@pytest.mark.parametrize(("case", "probes"), cases("mind_preprocess", "cases", beside="clip_probes_at"))
def test_vector_what_clip_is_shown(case: dict[str, Any], probes: dict[str, Any]) -> None:
    frame = np.random.default_rng(case["seed"]).integers(0, 256, (1, case["h"], case["w"], 3), dtype=np.uint8)[0]
    (seen,) = clip_input(prepared(frame)[None])
    assert (seen.shape, seen.dtype) == ((224, 224, 3), np.float32)
    np.testing.assert_allclose(
        [seen[row, col, c] for c, row, col in probes["channel,row,col"]], case["clip_probes"], atol=2e-4, rtol=0
    )
    np.testing.assert_allclose(seen.mean((0, 1), dtype=np.float64), case["clip_mean_rgb"], atol=2e-5, rtol=0)
    np.testing.assert_allclose(seen.std(dtype=np.float64), case["clip_std_all"], atol=2e-5, rtol=0)


@pytest.mark.parametrize("size", [(720, 1280), (100, 300)])
def test_what_dino_is_shown_equals_pillow(size: tuple[int, int]) -> None:
    stack = np.random.default_rng(2).random((2, *size, 3), dtype=np.float32)
    small = [
        [Image.fromarray(frame[..., c]).resize((224, 224), Image.Resampling.BILINEAR) for c in range(3)]
        for frame in stack
    ]
    squeezed = np.moveaxis(np.array([[np.asarray(c) for c in frame] for frame in small]), 1, -1)
    expected = (squeezed - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(dino_input(stack), expected, atol=2e-5)


def test_lpips_without_files_and_released_dino_input() -> None:
    extremes = np.stack([np.zeros((72, 128, 3), np.float32), np.ones((72, 128, 3), np.float32)])
    seen = dino_input(extremes, released=True)
    assert (seen.min(), seen.max()) == pytest.approx((-2.118, -1.787), abs=6e-4)
    assert dino_input(extremes).max() == pytest.approx((1 - 0.406) / 0.225)
    assert (musiq_input(extremes).min(), musiq_input(extremes).max()) == (-1, 1)
    found = open_perception(None, "lpips")
    assert isinstance(found, Unavailable)
    assert "FILE,FILE" in found.reason
    with pytest.raises(DataError, match="no such weight file"):
        open_perception("nowhere.npz", "lpips")


def test_tokens_of_a_server_and_of_the_released_scaling(opened: Opened) -> None:
    dino = opened(served("Dino"), "dino")
    shown = frames(BATCH + 1)
    tokens = dino.tokens(shown)
    assert (tokens.shape, tokens.dtype) == ((BATCH + 1, 201, 768), np.float32)
    np.testing.assert_allclose(tokens[:, 5:], patches(dino_input(shown)) @ projection(0), atol=1e-4)
    assert tokens[:, 0, 2].tolist() == [BATCH] * BATCH + [1], "a last question of one frame is as good as any"
    assert dino.tokens(shown[:0]).shape == (0, 201, 768)
    assert dino_mse(tokens[0], tokens[0]) == 0 < dino_mse(tokens[0], tokens[1]) <= 4 / 768
    assert dino.settings["settings"] == {"seed": 0}
    assert dino.settings["parity"] is None
    json.dumps(dict(dino.settings))
    shown = frames()
    ours, released = (
        opened(served("Dino?seed=3"), "dino", parity=parity).tokens(shown)[:, 0, :2] for parity in (None, "released")
    )
    assert ours.max() > 1
    assert -2.118 < released.min() < released.max() < -1.787


def test_aesthetic_scores_of_features_and_of_scores(opened: Opened, head: Path) -> None:
    shown = frames()
    found = opened(f"{head},{served('Aesthetic')}", "aesthetic")
    features = patches(clip_input(shown)).mean(1) @ projection(0)
    with np.load(head) as weights:
        expected = features / np.linalg.norm(features, axis=1, keepdims=True) @ weights["weight"][0] + weights["bias"]
    np.testing.assert_allclose(found.scores(shown), expected / 10, rtol=1e-4)
    assert found.settings["head"]
    scored = opened(served("Aesthetic?layout=scores"), "aesthetic")
    np.testing.assert_allclose(scored.scores(shown), clip_input(shown).sum((1, 2, 3), dtype=np.float64) / 10)


def test_imaging_scores_however_the_server_is_reached(opened: Opened) -> None:
    shown = frames()
    expected = shown.mean((1, 2, 3), dtype=np.float64)
    for way in (served("Imaging"), served("Imaging", "pipe", "--pipes")):
        np.testing.assert_allclose(opened(way, "imaging").scores(shown), expected, rtol=1e-5)


def test_lpips_of_a_server_and_of_files(opened: Opened, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    shapes = {"0": (4, 3, 11, 11), "3": (5, 4, 5, 5), "6": (6, 5, 3, 3), "8": (5, 6, 3, 3), "10": (4, 5, 3, 3)}
    tensors = {f"features.{name}.weight": rng.normal(0, 0.1, shape) for name, shape in shapes.items()}
    tensors |= {f"features.{name}.bias": rng.normal(0, 0.1, shape[0]) for name, shape in shapes.items()}
    heads = {f"lin{i}.model.1.weight": rng.random((1, s[0], 1, 1)) for i, s in enumerate(shapes.values())}
    np.savez(tmp_path / "alex.npz", **tensors)
    np.savez(tmp_path / "lin.npz", **heads)
    x, y = frames(2), frames(2, seed=1)
    files = [tmp_path / "alex.npz", tmp_path / "lin.npz"]
    local = opened(",".join(map(str, files)), "lpips")
    whole = [np.rint(255 * stack).astype(np.uint8) for stack in (x, y)]
    rounded = [(stack / np.float32(255)).astype(np.float32) for stack in whole]
    expected = [Lpips(files)(*pair) for pair in zip(*whole, strict=True)]
    np.testing.assert_allclose(local.distances(*rounded), expected, rtol=1e-4)
    assert (local.distances(x, x).tolist(), len(local.settings["weights"])) == ([0, 0], 2)
    far = opened(served("Lpips"), "lpips")
    np.testing.assert_allclose(far.distances(x, y), 2 * np.abs(x - y).mean((1, 2, 3)), rtol=1e-5)
    for network in (local, far):
        with pytest.raises(ShapeError, match="differ"):
            network.distances(x, y[:1])


@pytest.mark.parametrize(
    ("what", "says"), [("dino", "dinov3-b16"), ("aesthetic", "clip-laion"), ("imaging", "musiq-spaq")]
)
def test_without_a_network_it_is_absent_and_says_what_to_do(what: Any, says: str) -> None:
    found = open_perception(None, what)
    assert isinstance(found, Unavailable)
    assert found.what == what
    assert f"worldgauge weights pull {says}, then --set {what}={says};" in found.reason
    assert f"kind '{what}'" in found.reason
    assert "\n" not in found.reason
    assert estimators.entry(what).facts["needs"] == "weights"
    with pytest.raises(WorldgaugeError, match=says):
        estimators.get(what)()
    with pytest.raises(UsageError, match=f"neither a network nor a server; .*pull {says}"):
        open_perception("weights.pth", what)


def test_what_cannot_be_meant_is_refused(head: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'imaging'"):
        open_perception(None, "imagin")
    with pytest.raises(UnknownNameError, match="Did you mean 'dinov3-b16'"):
        open_perception("dinov3-b14", "dino")
    with pytest.raises(UnknownNameError, match="Known: lpips-alex, lpips-vgg"):
        open_perception("dinov3-b16", "lpips")
    with pytest.raises(UsageError, match="parity"):
        open_perception(None, "dino", parity="relesed")
    with pytest.raises(UsageError, match="kind 'imaging'"):
        open_perception(served("Imaging"), "dino")
    with pytest.raises(UsageError, match="neither a network nor a server"):
        open_perception(f"{head},{served('Dino')}", "dino")
    with pytest.raises(UsageError, match="name the head's weight file"):
        open_perception(served("Aesthetic"), "aesthetic")
    with pytest.raises(UsageError, match="no head file"):
        open_perception(f"{head},{served('Aesthetic?layout=scores')}", "aesthetic")
    with pytest.raises(UsageError, match="layout features or scores"):
        open_perception(served("Aesthetic?layout=both"), "aesthetic")
    np.savez(tmp_path / "small.npz", weight=np.ones(5, np.float32), bias=np.ones(1, np.float32))
    with pytest.raises(DataError, match=r"small\.npz: a head has"):
        open_perception(f"{tmp_path / 'small.npz'},{served('Aesthetic')}", "aesthetic")


def test_what_a_server_fails_at_is_said(opened: Opened) -> None:
    imaging = opened(served("Imaging"), "imaging")
    with pytest.raises(EstimateError, match="nothing to be seen"):
        imaging.scores(np.zeros_like(frames()))
    for wrong in (frames()[0], frames().astype(np.float64), frames()[..., :2]):
        with pytest.raises(ShapeError, match="float32"):
            imaging.scores(wrong)
    with pytest.raises(ModelError, match="'distances' as float64 of"):
        opened(served("Lpips?n_given=2"), "lpips").distances(frames(), frames())
