"""Depth Anything: what it is shown, and metres as its weights say, loaded as they are published."""

import json
import os
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.places import DOCS

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")
from safetensors.torch import load_file, save_file  # noqa: E402

from worldgauge.core.episode import Context  # noqa: E402
from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch  # noqa: E402
from worldgauge.core.model import RolloutRequest, checked_rollout  # noqa: E402
from worldgauge.core.video import Clip  # noqa: E402
from worldgauge.models.baselines.memory import MemoryModel  # noqa: E402
from worldgauge.models.baselines.warp import SKY_M, Warp  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks.depth import DepthAnything, prepared, seen_size  # noqa: E402
from worldgauge.serving import open_estimator  # noqa: E402
from worldgauge.serving.remote_model import Expected  # noqa: E402
from worldgauge.suites.mind.actions import actions_of, walk_look  # noqa: E402
from worldgauge.weights import WeightFile, catalogue, store  # noqa: E402

RNG = np.random.default_rng(0)
WIDE = RNG.integers(0, 256, (2, 72, 88, 3), dtype=np.uint8)
"""Seen at 630 x 518."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as its owner's, of the same architecture with tiny random weights."""
    folder = tmp_path_factory.mktemp("store") / "depth-anything"
    return made(folder)


def made(folder: Path, **fields: Any) -> Path:
    backbone = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=4, num_attention_heads=1, mlp_ratio=1, image_size=56, patch_size=14,
        out_indices=[1, 2, 3, 4], reshape_hidden_states=False, apply_layernorm=True,
    )  # fmt: skip
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=16, neck_hidden_sizes=[4, 4, 8, 8], fusion_hidden_size=4,
        head_hidden_size=4, **{"depth_estimation_type": "metric", "max_depth": 80, **fields},
    )  # fmt: skip
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = transformers.DepthAnythingForDepthEstimation(config)
    for module in model.modules():  # transformers starts it so near to 0 that every pixel is half the greatest depth
        if isinstance(module, torch.nn.Conv2d | torch.nn.ConvTranspose2d | torch.nn.Linear):
            module.reset_parameters()
    model.head.conv3.weight.data *= 300
    model.save_pretrained(folder)
    return folder


def opened(folder: Path, precision: Any = "float32") -> DepthAnything:
    return DepthAnything(folder, choose_device("cpu", precision))


@pytest.mark.parametrize(
    ("size", "seen"),
    [
        ((640, 360), (924, 518)),  # 920.9 is 65.8 patches
        ((1920, 1080), (924, 518)),
        ((256, 256), (518, 518)),
        ((160, 90), (924, 518)),
        ((480, 640), (518, 686)),  # 690.7 is 49.3 patches
        ((224, 168), (686, 518)),
        ((100, 101), (518, 518)),  # 523.2 is 37.4 patches
        ((400, 100), (2072, 518)),
    ],
)
def test_sizes_by_hand(size: tuple[int, int], seen: tuple[int, int]) -> None:
    assert seen_size(*size) == seen


def test_colours_by_hand_and_the_name() -> None:
    shown = prepared(np.full((90, 160, 3), (255, 0, 51), np.uint8))
    assert shown.shape == (518, 924, 3)
    assert shown.dtype == np.float32
    expected = [(1 - 0.485) / 0.229, (0 - 0.456) / 0.224, (0.2 - 0.406) / 0.225]
    np.testing.assert_allclose(shown[[0, 300, -1], [0, 500, -1]], [expected] * 3, atol=1e-5)
    assert networks.get("depth-anything") is DepthAnything
    assert networks.entry("depth-anything").facts["what"] == "depth"


def test_an_impulse_by_hand_is_cubic_with_three_quarters_and_does_not_smooth() -> None:
    """Twice the size: new pixel centres lie a quarter from the old ones; the kernel of Keys, a = -3/4."""
    frame = np.zeros((259, 259, 3), np.uint8)
    frame[:, 100] = 255
    row = prepared(frame)[200, :, 0] * 0.229 + 0.485

    def keys(d: float) -> float:
        if d < 1:
            return 1.25 * d**3 - 2.25 * d**2 + 1
        return -0.75 * d**3 + 3.75 * d**2 - 6 * d + 3 if d < 2 else 0.0

    np.testing.assert_allclose(row[196:206], [keys(abs((x + 0.5) / 2 - 100.5)) for x in range(196, 206)], atol=1e-5)
    assert row.min() < -0.05, "what the filter takes below black stays"

    thin = np.zeros((1036, 1036, 3), np.uint8)
    thin[:, 501] = 255  # halved: the new pixel 250 lies half a pixel from 500 and 501, 251 lies one and a half beyond
    row = prepared(thin)[200, :, 0] * 0.229 + 0.485
    np.testing.assert_allclose(row[249:252], [0, keys(0.5), keys(1.5)], atol=1e-5)


@pytest.fixture(scope="module")
def depth(published: Path) -> np.ndarray:
    """Of `WIDE`."""
    return opened(published).answer({"frames": WIDE})["depth"]


def test_metres_of_every_pixel_as_the_published_model_gives_them(published: Path, depth: np.ndarray) -> None:
    assert depth.shape == (2, 72, 88)
    assert depth.dtype == np.float32
    assert (depth > 0).all()
    assert (depth < 80).all()
    assert depth.std() > 1
    theirs = transformers.DepthAnythingForDepthEstimation.from_pretrained(published).eval()
    shown = torch.from_numpy(prepared(WIDE[1])).permute(2, 0, 1)[None]
    with torch.no_grad():
        raw = theirs(pixel_values=shown).predicted_depth.numpy()[0]
    assert raw.shape == (518, 630)
    np.testing.assert_allclose(depth[1], bilinear(raw, 72, 88), rtol=1e-4)


def bilinear(grid: np.ndarray, height: int, width: int) -> np.ndarray:
    """Between the four neighbours, corners upon corners; written anew, of float64."""
    rows, columns = np.linspace(0, len(grid) - 1, height), np.linspace(0, grid.shape[1] - 1, width)
    across = np.stack([np.interp(columns, np.arange(grid.shape[1]), row.astype(np.float64)) for row in grid])
    return np.stack([np.interp(rows, np.arange(len(grid)), column) for column in across.T], axis=1)


def test_weights_state_the_greatest_depth_and_the_architecture(tmp_path: Path, depth: np.ndarray) -> None:
    near = opened(made(tmp_path, max_depth=20))
    assert near.farthest_m == 20
    np.testing.assert_allclose(near.answer({"frames": WIDE[:1]})["depth"], depth[:1] / 4, rtol=1e-5)
    config = made(tmp_path) / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "dpt"}))
    with pytest.raises(DataError, match="of a 'dpt'; the folder of a depth_anything is needed"):
        opened(tmp_path)


def test_answers_depend_on_their_own_frame_where_it_changes(published: Path, depth: np.ndarray) -> None:
    network = opened(published)
    np.testing.assert_array_equal(network.answer({"frames": WIDE[1:]})["depth"][0], depth[1])
    assert network.answer({"frames": WIDE[:0]})["depth"].shape == (0, 72, 88)
    frame = WIDE[:1].copy()
    frame[:, :, 66:] = 255 - frame[:, :, 66:]
    change = np.abs(opened(published).answer({"frames": frame})["depth"][0] - depth[0])
    assert change[:, 70:].mean() > 2 * change[:, :40].mean()


@pytest.mark.slow
def test_half_precision_is_near(published: Path, depth: np.ndarray) -> None:
    half = opened(published, "bfloat16").answer({"frames": WIDE[:1]})["depth"]
    assert half.dtype == np.float32
    assert 0 < np.abs(half / depth[:1] - 1).mean() < 0.1


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (np.zeros((1, 8, 8, 3), np.float32), r"frames \(n, H, W, 3\) uint8, got \(1, 8, 8, 3\) float32"),
        (np.zeros((8, 8, 3), np.uint8), "got .8, 8, 3. uint8"),
        (np.zeros((1, 0, 8, 3), np.uint8), "got .1, 0, 8, 3. uint8"),
        (np.zeros((1, 8, 64, 3), np.uint8), "64x8 is too long; at most 4 times its shorter side"),
    ],
)
def test_other_frames_are_refused(published: Path, frames: Any, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        opened(published).answer({"frames": frames})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"depth_estimation_type": "relative"}, "gives relative depth, which has no unit; take the files of a metric"),
        ({"max_depth": 0}, "max_depth is 0; metres above 0"),
        ({"patch_size": 7}, "whose patch_size is 14: this one's is 7"),
    ],
)
def test_other_variants_are_refused_by_name(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as told:
        opened(made(tmp_path, **fields))
    assert "config.json" in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("fault", ["missing", "left over", "of another shape"])
def test_weights_that_do_not_fit_are_named(tmp_path: Path, fault: str) -> None:
    file = made(tmp_path) / "model.safetensors"
    tensors = load_file(file)
    name = "head.conv1.weight"
    if fault == "missing":
        del tensors[name]
    elif fault == "left over":
        tensors[name := "head.conv9.weight"] = torch.zeros(1)
    else:
        tensors[name] = torch.zeros(1, 1, 3, 3)
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(DataError, match=f"tensors {fault}: {re.escape(name)}"):
        opened(tmp_path)


@pytest.mark.slow
def test_it_has_the_tensors_of_the_published_file(tmp_path: Path) -> None:
    """Names and shapes decide how long the file is: not a byte more or less than the one that is published."""
    config = transformers.DepthAnythingConfig(depth_estimation_type="metric", max_depth=80)
    transformers.DepthAnythingForDepthEstimation(config).save_pretrained(tmp_path)
    (file,) = (file for file in catalogue["depth-anything"].files if file.name == "model.safetensors")
    assert ((tmp_path / file.name).stat().st_size, opened(tmp_path).farthest_m) == (file.bytes, 80)


def test_memory_and_warp_run_on_a_recording_with_it(
    published: Path, depth: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From weights in the store to frames, and nothing asked of the world."""
    unsized = replace(catalogue["depth-anything"], files=tuple(WeightFile(name, "") for name in os.listdir(published)))
    monkeypatch.setattr(store, "catalogue", {"depth-anything": unsized})
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(published.parent))
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    poses = np.stack([pose_from_yaw_pitch((0.3 * t, 0, 1.6), 0.02 * t) for t in range(4)])
    camera = Camera.from_vertical_fov(88, 72, 60)
    context = Context(Clip.from_array(WIDE, 20.0), poses[:2], actions_of(np.zeros((1, 4)), walk_look()), camera)
    request = RolloutRequest(context, horizon=2, seed=0, poses=poses[2:])
    beyond_sky = np.where(depth < SKY_M, depth, np.float32(np.inf))
    given = replace(request, context=replace(context, depth=lambda index: beyond_sky[index]))
    for estimating, plain in (
        (MemoryModel(1, depth="depth-anything"), MemoryModel(1)),
        (Warp(depth="depth-anything"), Warp()),
    ):
        told = estimating.spec.settings["depth"]
        assert (told["network"], told["version"], len(told["weights"])) == ("depth-anything", 1, 64)
        frames = np.concatenate(list(checked_rollout(estimating, request)))
        np.testing.assert_array_equal(frames, np.concatenate(list(checked_rollout(plain, given))))
        assert frames.std() > 5


@pytest.mark.slow
def test_a_server_of_it_as_the_docs_show_gives_the_same(published: Path, depth: np.ndarray, tmp_path: Path) -> None:
    docs = (DOCS / "howto" / "models" / "depth_anything.md").read_text("utf-8")
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", docs, re.DOTALL) if "class Indoor" in code)
    (tmp_path / "indoor.py").write_text(code)
    at = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path / 'indoor.py'}:Indoor?folder={published}"
    with closing(open_estimator(at)) as remote:
        assert (remote.spec.kind, remote.spec.settings) == ("depth", {"folder": published.name})
        answer = remote.estimate({"frames": WIDE}, {}, {"depth": Expected((depth.shape,))})
    np.testing.assert_allclose(answer.arrays["depth"], depth, rtol=1e-5)
