"""MUSIQ from a file as published, tiny and random, against numpy that was written from its description."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
import cv2  # noqa: E402

from support import musiq_reference  # noqa: E402
from support.musiq_reference import tiny_tensors  # noqa: E402
from support.vectors import cases  # noqa: E402
from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.metrics.lpips_fvd import imaging  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks._pretrained import musiq_input  # noqa: E402
from worldgauge.perception.networks.musiq import (  # noqa: E402
    PUBLISHED,
    WEIGHTS,
    Encoder,
    Sizes,
    cells_of,
    patches_of,
    scaled,
    shapes_of,
    sizes_of,
)

Tensors = dict[str, np.ndarray]


def published(folder: Path, tensors: Tensors) -> Path:
    """A folder with the file as its owner publishes it."""
    torch.save({name: torch.from_numpy(tensor) for name, tensor in tensors.items()}, folder / WEIGHTS)
    return folder


def opened(folder: Path, precision: Any = "float32") -> Any:
    return networks.get("musiq-spaq")(folder, choose_device("cpu", precision))


def frames(n: int = 2, rows: int = 40, columns: int = 72, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, rows, columns, 3)).astype(np.float32)


def first(image: np.ndarray) -> Any:
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


@pytest.mark.parametrize(("rows", "columns"), [(40, 72), (97, 33)])
def test_scores_equal_the_padded_and_masked_numpy(rows: int, columns: int, tmp_path: Path) -> None:
    tensors = tiny_tensors(seed=rows)
    network = opened(published(tmp_path, tensors))
    (frame,) = frames(1, rows, columns)
    (found,) = network.answer({"frames": frame[None]})["scores"]
    assert found == pytest.approx(musiq_reference.score(tensors, frame), abs=2e-5)
    other = network.answer({"frames": frame[None, :, ::-1]})["scores"][0]
    assert abs(other - found) > 1e-3, "a score that would not tell left from right"


def test_a_layer_and_a_token_equal_numpy(tmp_path: Path) -> None:
    tensors = tiny_tensors(seed=2, layers=1)
    encoder = Encoder(tensors, choose_device("cpu"), tmp_path)
    double = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    (patch,) = frames(1, 32, 32)
    expected = musiq_reference.embedding(double, patch.astype(np.float64))
    np.testing.assert_allclose(encoder._embedded(first(patch)[None])[0], expected, atol=2e-5)
    layer = "transformer_encoder.transformer.encoderblock_0"
    x = np.random.default_rng(1).normal(size=(7, 128))
    mixed = encoder._attended(encoder._normed(torch.tensor(x).float()[None], f"{layer}.norm1"), f"{layer}.attention")
    silent = double | {f"{layer}.mlp.fc2.{kind}": 0 * double[f"{layer}.mlp.fc2.{kind}"] for kind in ("weight", "bias")}
    expected = musiq_reference.layer(silent, layer, x, np.ones(7, bool)) - x
    np.testing.assert_allclose(mixed[0], expected, atol=2e-5)


@pytest.mark.parametrize(
    ("rows", "columns", "sizes"),
    [
        (720, 1280, [(126, 224), (216, 384), (720, 1280)]),
        (384, 384, [(224, 224), (384, 384), (384, 384)]),
        (1000, 450, [(224, 101), (384, 173), (1000, 450)]),  # 100.8 and 172.8
    ],
)
def test_three_sizes(rows: int, columns: int, sizes: list[tuple[int, int]]) -> None:
    assert sizes_of(rows, columns) == sizes
    assert [tuple(image.shape[1:]) for image in scaled(torch.zeros(3, rows, columns))] == sizes


def test_scales_padding_and_published_sizes() -> None:
    counts = [len(patches_of(image)) for image in scaled(torch.zeros(3, 720, 1280))]
    assert counts == [4 * 7, 7 * 12, 23 * 40]
    *_, mask = musiq_reference.tokens(np.zeros((720, 1280, 3)))
    assert (len(mask), mask.sum()) == (49 + 144 + 920, sum(counts)), "what was masked is what is left out"
    (frame,) = frames(1, 90, 160)
    for image, size in zip(scaled(first(frame)), sizes_of(90, 160), strict=True):
        # OpenCV's cubic has the same a = -0.75 and centres; it repeats the border as well.
        expected = cv2.resize(frame, size[::-1], interpolation=cv2.INTER_CUBIC)
        np.testing.assert_allclose(image.permute(1, 2, 0), expected, atol=1e-4)
    patches = patches_of(torch.ones(3, 31, 29))
    assert patches.shape == (1, 3, 32, 32)
    rows, columns = (patches[0, 0].amax(axis) for axis in (1, 0))
    assert (rows.nonzero()[[0, -1], 0].tolist(), columns.nonzero()[[0, -1], 0].tolist()) == ([0, 30], [1, 29])
    shapes = shapes_of(PUBLISHED)
    assert (PUBLISHED.layers, PUBLISHED.width // 64) == (14, 6)
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 27_125_825
    assert shapes["embedding.weight"] == (384, 16384)
    tiny = tiny_tensors()
    assert {name: tensor.shape for name, tensor in tiny.items()} == shapes_of(Sizes(32, 64, 128, 96, 2))


@pytest.mark.parametrize(("rows", "columns"), [(33, 64), (720, 1280), (126, 224), (31, 95), (330, 400)])
def test_patches_and_cells_by_hand(rows: int, columns: int) -> None:
    (image,) = frames(1, rows, columns)
    patches, cells = musiq_reference.cut_up(image)
    np.testing.assert_array_equal(patches_of(first(image)).permute(0, 2, 3, 1), patches)
    assert cells_of(first(image)).tolist() == cells.tolist()


def test_rows_are_answered_one_by_one_and_the_same_again(tmp_path: Path) -> None:
    network = opened(published(tmp_path, tiny_tensors()))
    shown = frames(3)
    scores = network.answer({"frames": shown})["scores"]
    assert (scores.shape, scores.dtype) == ((3,), np.float32)
    alone = [network.answer({"frames": shown[i : i + 1]})["scores"][0] for i in range(3)]
    assert (alone, len(set(alone))) == (scores.tolist(), 3)
    assert network.answer({"frames": shown[:0]})["scores"].shape == (0,)


def test_channels_are_red_green_blue(tmp_path: Path) -> None:
    tensors = tiny_tensors()
    stem = tensors["conv_root.weight"]
    stem[:, 1:] = 0
    # Of mean 0 already, so that taking out the mean leaves the weights of green and blue at 0.
    stem[:, 0] -= stem[:, 0].mean((1, 2), keepdims=True)
    network = opened(published(tmp_path, tensors))
    pictures = np.repeat(frames(1), 4, 0)
    for channel in range(3):
        pictures[channel, ..., channel] **= 2
    *changed, plain = network.answer({"frames": pictures})["scores"]
    assert abs(changed[0] - plain) > 1e-3
    assert changed[1:] == pytest.approx([plain, plain], abs=1e-5)


@pytest.mark.parametrize("case", cases("mind_feature_heads", "cases"))
def test_vector_imaging_scores_through_the_network(case: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(case["seed"])
    rng.normal(size=(2, case["F"], 201, case["dim"]))
    rng.normal(size=(case["F"] + 1, 768))
    rng.normal()
    raw = (100 * rng.random(case["F"])).astype(np.float32)
    tensors = tiny_tensors(layers=1)
    tensors["head.weight"][:] = 0
    pictures = np.random.default_rng(0).random((1, 36, 64, 3), dtype=np.float32)
    scores = []
    for score in raw:
        tensors["head.bias"][:] = score
        (found,) = opened(published(tmp_path, tensors)).answer({"frames": musiq_input(pictures)})["scores"]
        scores.append(imaging(float(found)))
    np.testing.assert_allclose(scores, case["imaging"], rtol=1e-6)
    assert np.mean(scores) == pytest.approx(case["avg_imaging"], rel=1e-6)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_gives_float32_close_by(precision: str, tmp_path: Path) -> None:
    folder = published(tmp_path, tiny_tensors())
    score, half = (opened(folder, each).answer({"frames": frames(1)})["scores"] for each in ("float32", precision))
    assert half.dtype == np.float32
    assert 0 < abs(half - score) < 0.05


def changed(name: str, tensor: Any) -> Tensors:
    tensors = tiny_tensors(layers=1)
    if tensor is None:
        del tensors[name]
    else:
        tensors[name] = np.asarray(tensor)
    return tensors


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        (changed("block1.gn2.bias", None), r"lacks 'block1\.gn2\.bias'"),
        (changed("more", np.zeros(1, np.float32)), "'more' is none of the"),
        (changed("head.weight", np.zeros((10, 128), np.float32)), r"'head\.weight' is of shape.*10"),
        (changed("head.bias", np.full(1, np.nan, np.float32)), r"'head\.bias'.*not finite"),
        (
            {name.replace("block_0", "block_1"): tensor for name, tensor in tiny_tensors(layers=1).items()},
            r"lacks .*encoderblock_0.* and \d+ more",
        ),
        ({}, r"lacks .* and \d+ more"),
        (tiny_tensors(layers=1, width=96), "of other sizes than the published one"),
        (tiny_tensors(layers=1, inner=0), "of other sizes than the published one"),
        (changed("conv_root.weight", np.float32(1)), r"'conv_root\.weight' is of shape"),
    ],
    ids=["missing", "left over", "shape", "nan", "layer", "empty", "heads", "nothing inside", "a number"],
)
def test_other_files_are_named(tensors: Tensors, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{WEIGHTS}: .*{says}"):
        opened(published(tmp_path, tensors))


def test_weights_of_the_published_width_and_of_several_devices(tmp_path: Path) -> None:
    tensors = tiny_tensors(layers=1, width=384)
    with pytest.raises(DataError, match=r"layers=1\), not Sizes\(.*layers=14"):
        opened(published(tmp_path, tensors))
    tensors = tiny_tensors()
    before = opened(published(tmp_path, tensors)).answer({"frames": frames()})["scores"]
    after = opened(published(tmp_path, {f"module.{name}": tensor for name, tensor in tensors.items()}))
    assert after.answer({"frames": frames()})["scores"].tolist() == before.tolist()


@pytest.mark.parametrize("shape", [(1, 3, 40, 72), (40, 72, 3), (1, 0, 72, 3), (1, 2, 1200, 3)])
def test_other_frames_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    network = opened(published(tmp_path, tiny_tensors(layers=1)))
    with pytest.raises(ShapeError, match=r"expected frames|too narrow"):
        network.answer({"frames": np.zeros(shape, np.float32)})
