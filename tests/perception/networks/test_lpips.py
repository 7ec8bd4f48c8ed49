"""LPIPS in torch: the numpy one, an independent VGG and values by hand; and what files and images it refuses."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import correlate

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.perception.loading import Lpips  # noqa: E402
from worldgauge.perception.networks import ComputeDevice, choose_device, networks, open_network  # noqa: E402
from worldgauge.perception.networks.lpips import _Lpips  # noqa: E402
from worldgauge.weights import catalogue  # noqa: E402

NAMES = ("lpips-alex", "lpips-vgg")
Tensors = dict[str, Any]
SHAPES = {
    "lpips-alex": [(0, 8, 11), (3, 9, 5), (6, 7, 3), (8, 6, 3), (10, 5, 3)],
    "lpips-vgg": [
        *[(0, 4, 3), (2, 5, 3), (5, 6, 3), (7, 5, 3), (10, 4, 3), (12, 4, 3), (14, 6, 3), (17, 5, 3), (19, 4, 3)],
        *[(21, 5, 3), (24, 4, 3), (26, 4, 3), (28, 5, 3)],
    ],
}
COMPARED = {"lpips-alex": (0, 3, 6, 8, 10), "lpips-vgg": (2, 7, 14, 21, 28)}
VGG_POOLED = (5, 10, 17, 24)


def weights(name: str, width: int | None = None) -> tuple[Tensors, Tensors]:
    """Trunk and heads of the right form; the published ones are wider and take the same way."""
    rng = np.random.default_rng(0)
    trunk: Tensors = {"classifier.1.weight": torch.zeros(2, 2)}
    channels, widths = 3, []
    for index, own, kernel in SHAPES[name]:
        shape = (width or own, channels, kernel, kernel)
        values = rng.normal(0, (2 / np.prod(shape[1:])) ** 0.5, shape).astype(np.float32)
        trunk[f"features.{index}.weight"] = torch.from_numpy(values)
        trunk[f"features.{index}.bias"] = torch.from_numpy(rng.normal(0, 0.1, shape[0]).astype(np.float32))
        channels = shape[0]
        widths += [channels] if index in COMPARED[name] else []
    heads = {
        f"lin{i}.model.1.weight": torch.from_numpy(rng.random((1, each, 1, 1)).astype(np.float32))
        for i, each in enumerate(widths)
    }
    return trunk, heads


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    def save(name: str, trunk: Tensors, heads: Tensors) -> Path:
        for file, tensors in zip(networks.get(name).files, (trunk, heads), strict=True):
            torch.save(tensors, tmp_path / file)
        return tmp_path

    return save


@pytest.fixture(params=NAMES)
def network(request: pytest.FixtureRequest, saved: Callable[..., Path]) -> _Lpips:
    return networks.get(request.param)(saved(request.param, *weights(request.param)), choose_device("cpu"))


def images(n: int, rows: int = 64, columns: int = 80, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, rows, columns, 3)).astype(np.float32)


def distances(network: _Lpips, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return network.answer({"x": x, "y": y})["distances"]


def test_equals_the_one_without_torch(saved: Callable[..., Path]) -> None:
    folder = saved("lpips-alex", *weights("lpips-alex"))
    network = networks.get("lpips-alex")(folder, choose_device("cpu"))
    other = Lpips([folder / file for file in network.files])
    x, y = images(3), images(3, seed=2)
    expected = [other.distance(*pair) for pair in zip((x + 1) / 2, (y + 1) / 2, strict=True)]
    assert distances(network, x, y) == pytest.approx(expected, rel=1e-5)


def test_vgg_equals_an_independent_implementation(saved: Callable[..., Path]) -> None:
    trunk, heads = weights("lpips-vgg")
    network = networks.get("lpips-vgg")(saved("lpips-vgg", trunk, heads), choose_device("cpu"))

    def features(image: np.ndarray) -> list[np.ndarray]:
        x = image.astype(np.float64).transpose(2, 0, 1)
        x = (x + np.array([0.030, 0.088, 0.188])[:, None, None]) / np.array([0.458, 0.448, 0.450])[:, None, None]
        found = []
        for index, *_ in SHAPES["lpips-vgg"]:
            if index in VGG_POOLED:
                h, w = (side // 2 for side in x.shape[1:])
                x = x[:, : 2 * h, : 2 * w].reshape(len(x), h, 2, w, 2).max((2, 4))
            kernels, biases = (trunk[f"features.{index}.{part}"].numpy() for part in ("weight", "bias"))
            sums = [[correlate(c, k, mode="constant") for c, k in zip(x, kernel, strict=True)] for kernel in kernels]
            x = np.maximum(np.array(sums).sum(1) + biases[:, None, None], 0)
            if index in COMPARED["lpips-vgg"]:
                found.append(x / (np.sqrt((x**2).sum(0)) + 1e-10))
        return found

    x, y = images(1, 34, 41), images(1, 34, 41, seed=2)
    expected = sum(
        (heads[f"lin{i}.model.1.weight"].numpy()[0] * (a - b) ** 2).sum(0).mean()
        for i, (a, b) in enumerate(zip(features(x[0]), features(y[0]), strict=True))
    )
    assert distances(network, x, y)[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_by_hand(name: str, saved: Callable[..., Path]) -> None:
    # Two channels that hand on red and green: of one image they are (0.6, 0.8) everywhere, of the other (1, 0).
    trunk, heads = weights(name, width=2)
    for index, _, kernel in SHAPES[name]:
        weight = trunk[f"features.{index}.weight"].zero_()
        weight[0, 0, kernel // 2, kernel // 2] = weight[1, 1, kernel // 2, kernel // 2] = 1
        trunk[f"features.{index}.bias"].zero_()
    for i, head in enumerate(heads.values()):
        head[:] = torch.tensor([1.0 + i, 0.5]).reshape(1, 2, 1, 1)
    network = networks.get(name)(saved(name, trunk, heads), choose_device("cpu"))
    one = np.array([0.6 * 0.458 - 0.030, 0.8 * 0.448 - 0.088, 0.3], np.float32)
    other = np.array([0.458 - 0.030, -0.088, -0.9], np.float32)
    x, y = (np.broadcast_to(colour, (1, 48, 48, 3)) for colour in (one, other))
    expected = sum((1 + i) * 0.16 + 0.5 * 0.64 for i in range(5))
    assert distances(network, x, y)[0] == pytest.approx(expected, rel=1e-5)


def test_distances_are_symmetric_by_row_and_of_small_images(network: _Lpips) -> None:
    x, y = images(2), images(2, seed=2)
    nearly = (x + 0.02 * y).clip(-1, 1)
    assert (distances(network, x, x) == 0).all()
    assert distances(network, x, y) == pytest.approx(distances(network, y, x), rel=1e-6)
    assert (distances(network, x, nearly) > 0).all()
    assert (distances(network, x, nearly) < distances(network, x, y)).all()
    x, y = images(5), images(5, seed=2)
    together = distances(network, x, y)
    assert (together.shape, together.dtype) == ((5,), np.float64)
    assert [distances(network, x[i : i + 1], y[i : i + 1])[0] for i in range(5)] == list(together)
    assert list(distances(network, x[::-1], y[::-1])) == list(together[::-1])
    assert distances(network, x[:0], y[:0]).shape == (0,)
    x, y = (images(1, network.least, network.least, seed) for seed in (1, 2))
    assert 0 < distances(network, x, y)[0] < np.inf


def test_a_gpu_gets_many_pairs_and_fewer_where_it_has_no_room(
    network: _Lpips, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    x, y = images(5), images(5, seed=2)
    alone, given, whole = distances(network, x, y), [], network._between

    def small(x: np.ndarray, y: np.ndarray) -> list[float]:
        given.append(len(x))
        if len(x) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return whole(x, y)

    monkeypatch.setattr(ComputeDevice, "is_cuda", True)
    monkeypatch.setattr(network, "_between", small)
    assert (distances(network, x, y), given) == (pytest.approx(alone, rel=1e-5), [5, 2, 2, 1])
    assert "no room for 5 times a pair of frames: half of it now" in caplog.text


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", NAMES)
def test_half_precision_is_near(name: str, precision: Any, saved: Callable[..., Path]) -> None:
    folder, made = saved(name, *weights(name)), networks.get(name)
    x, y = images(2), images(2, seed=2)
    exact, rough = (distances(made(folder, choose_device("cpu", each)), x, y) for each in ("float32", precision))
    assert not np.array_equal(exact, rough)
    assert rough == pytest.approx(exact, rel=0.03 if precision == "bfloat16" else 0.005)


@pytest.mark.parametrize("name", NAMES)
def test_opens_from_the_folder_of_weights(
    name: str, saved: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = catalogue[name]
    assert tuple(file.name for file in known.files) == networks.get(name).files
    unpublished = tuple(replace(file, bytes=None, sha256="") for file in known.files)
    monkeypatch.setitem(catalogue, name, replace(known, files=unpublished))
    folder = saved(name, *weights(name))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / name).symlink_to(folder, target_is_directory=True)
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "store"))
    x, y = images(1), images(1, seed=2)
    network = open_network(name, device="cpu")
    assert (network.name, networks.entry(name).facts["what"]) == (name, "lpips")
    assert distances(network, x, y) == distances(networks.get(name)(folder, choose_device("cpu")), x, y)


def test_wrong_files_are_named(saved: Callable[..., Path]) -> None:
    made = networks.get("lpips-alex")

    def refused(match: str, trunk: Tensors | None = None, heads: Tensors | None = None) -> None:
        right = weights("lpips-alex")
        folder = saved("lpips-alex", right[0] if trunk is None else trunk, right[1] if heads is None else heads)
        with pytest.raises(DataError, match=match):
            made(folder, choose_device("cpu"))

    trunk, heads = weights("lpips-alex")
    refused(
        r"7be5be79\.pth: not these weights, 'features.0.weight' is of shape 4 x 3 x 3 x 3, not any x 3 x 11 x 11",
        trunk=weights("lpips-vgg")[0],
    )
    refused(r"7be5be79\.pth: not these weights, it lacks 'features.0.weight'", trunk=heads)
    short, nan = {"features.3.bias": torch.zeros(4)}, {"features.8.bias": torch.full((6,), float("nan"))}
    refused(r"7be5be79\.pth: not these weights, 'features.3.bias' is of shape 4, not 9", trunk=trunk | short)
    refused(r"7be5be79\.pth: 'features.8.bias' holds numbers that are not finite", trunk=trunk | nan)
    refused(
        r"alex\.pth: not these weights, 'lin0.model.1.weight' is of shape 1 x 5 x 1 x 1, not 1 x 8 x 1 x 1",
        heads=weights("lpips-vgg")[1],
    )
    refused(r"alex\.pth: not these weights, it lacks 'lin4", heads={k: v for k, v in heads.items() if "lin4" not in k})


def test_a_file_that_would_run_code_is_refused(saved: Callable[..., Path], tmp_path: Path) -> None:
    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "harmed",)

    for name in networks.get("lpips-alex").files:
        for write in (
            lambda path: torch.save({"features.0.weight": Malice()}, path),
            lambda path: path.write_bytes(pickle.dumps(Malice(), protocol=2)),
        ):
            folder = saved("lpips-alex", *weights("lpips-alex"))
            write(folder / name)
            with pytest.raises(DataError, match=name):
                networks.get("lpips-alex")(folder, choose_device("cpu"))
    (folder / "alexnet-owt-7be5be79.pth").unlink()
    with pytest.raises(DataError, match=r"7be5be79\.pth: no such"):
        networks.get("lpips-alex")(folder, choose_device("cpu"))
    assert not (tmp_path / "harmed").exists()


def test_images_it_does_not_take(network: _Lpips) -> None:
    x = images(2)
    for bad in (x.astype(np.float64), x[0], x[..., :2], x[:, : network.least - 1]):
        with pytest.raises(ShapeError, match=f"{network.name}: expected x"):
            distances(network, bad, bad)
    with pytest.raises(ShapeError, match="expected y"):
        network.answer({"x": x})
    with pytest.raises(ShapeError, match="differ in shape"):
        distances(network, x, x[:1])
    with pytest.raises(ShapeError, match="pair 1 is not finite"):
        distances(network, x, np.where(np.arange(2)[:, None, None, None] == 1, np.nan, x).astype(np.float32))


@pytest.mark.filterwarnings("error")
def test_images_that_cannot_be_written_to_stay_as_they_are(network: _Lpips) -> None:
    x, y = images(1), images(1, seed=2)
    before, expected = x.tobytes(), distances(network, x, y)
    x.setflags(write=False)
    assert (distances(network, x, y), x.tobytes()) == (expected, before)


ST_BLURRED = {"stlpips-alex": (0, 5, 9), "stlpips-vgg": (6, 12, 20, 28)}
"""Convolutions whose input, or for the first its output, lost every second pixel."""
ST_SHAPES = {
    "stlpips-alex": [(0, 4, 11), (5, 5, 5), (9, 6, 3), (11, 5, 3), (13, 4, 3)],
    "stlpips-vgg": [
        *[(0, 4, 3), (2, 5, 3), (6, 6, 3), (8, 5, 3), (12, 4, 3), (14, 4, 3), (16, 6, 3), (20, 5, 3), (22, 4, 3)],
        *[(24, 4, 3), (28, 4, 3), (30, 4, 3), (32, 5, 3)],
    ],
}
ST_COMPARED = {"stlpips-alex": (0, 5, 9, 11, 13), "stlpips-vgg": (2, 8, 16, 24, 32)}


def st_weights(name: str) -> Tensors:
    """Of the published form: trunk and heads in one file, names of the trunk with its slice."""
    rng, tensors, channels, slice_, widths = np.random.default_rng(0), {}, 3, 1, []
    for index, width, kernel in ST_SHAPES[name]:
        values = rng.normal(0, (2 / (channels * kernel**2)) ** 0.5, (width, channels, kernel, kernel))
        tensors[f"net.slice{slice_}.{index}.weight"] = torch.from_numpy(values.astype(np.float32))
        tensors[f"net.slice{slice_}.{index}.bias"] = torch.from_numpy(rng.normal(0, 0.1, width).astype(np.float32))
        channels = width
        if index in ST_COMPARED[name]:
            widths.append(width)
            slice_ += 1
    for i, width in enumerate(widths):
        tensors[f"lin{i}.model.1.weight"] = torch.from_numpy(rng.random((1, width, 1, 1)).astype(np.float32))
    return tensors


@pytest.fixture(params=ST_SHAPES)
def st_network(request: pytest.FixtureRequest, tmp_path: Path) -> _Lpips:
    torch.save(st_weights(request.param), tmp_path / networks.get(request.param).files[0])
    return networks.get(request.param)(tmp_path, choose_device("cpu"))


def halved(x: np.ndarray) -> np.ndarray:
    """(C, h, w) by scipy: binomial blur, then every second pixel, two reflected at the edges."""
    wide = np.pad(x, ((0, 0), (2, 2), (2, 2)), mode="reflect")
    line = np.array([1, 2, 1]) / 4
    blurred = np.stack([correlate(each, np.outer(line, line), mode="constant") for each in wide])
    return blurred[:, 1:-1:2, 1:-1:2]


def st_reference(name: str, x: np.ndarray, y: np.ndarray) -> float:
    """ST-LPIPS of one pair, layer by layer in float64."""
    tensors, total, head = {k: v.numpy().astype(np.float64) for k, v in st_weights(name).items()}, 0.0, 0
    by_index = {int(k.split(".")[2]): k.rpartition(".")[0] for k in tensors if k.startswith("net.")}
    shown = [
        ((each - [-0.030, -0.088, -0.188]) / [0.458, 0.448, 0.450]).transpose(2, 0, 1).astype(np.float64)
        for each in (x, y)
    ]
    for index, _, kernel in ST_SHAPES[name]:
        weight, bias = (tensors[f"{by_index[index]}.{part}"] for part in ("weight", "bias"))
        padding, side = (2 if kernel > 3 else 1), (2 if "vgg" in name else 3)
        for i, image in enumerate(shown):
            if index in ST_BLURRED[name] and index:
                windows = np.lib.stride_tricks.sliding_window_view(image, (side, side), (1, 2))
                image = halved(windows.max((-1, -2)))
            wide = np.pad(image, ((0, 0), (padding, padding), (padding, padding)))
            windows = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (1, 2))
            image = np.einsum("chwij,ocij->ohw", windows, weight) + bias[:, None, None]
            shown[i] = np.maximum(halved(image) if index == 0 and "alex" in name else image, 0)
        if index in ST_COMPARED[name]:
            a, b = (each / (np.linalg.norm(each, axis=0) + 1e-10) for each in shown)
            total += float(np.einsum("chw,c->hw", (a - b) ** 2, tensors[f"lin{head}.model.1.weight"].ravel()).mean())
            head += 1
    return total


def test_st_lpips_equals_numpy(st_network: _Lpips) -> None:
    x, y = images(2, 40, 35), images(2, 40, 35, seed=2)
    want = [st_reference(st_network.name, a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(distances(st_network, x, y), want, rtol=2e-5)


def test_st_lpips_is_0_for_equal_images_symmetric_and_has_a_least_size(st_network: _Lpips) -> None:
    side = st_network.least
    x, y = images(1, side, side), images(1, side, side, seed=2)
    assert distances(st_network, x, x) == 0
    assert distances(st_network, x, y) == pytest.approx(distances(st_network, y, x))
    with pytest.raises(ShapeError, match=f"{side} pixels a side or more"):
        distances(st_network, x[:, 1:], y[:, 1:])
